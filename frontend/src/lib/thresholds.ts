/** From where on a number wants a look: one place for all pages. Pure. */

export type Alert = 'attention' | 'broken' | undefined;

const FULL = { attention: 0.8, broken: 0.95 };
const BUSY = 0.9;

/** Of a share of memory that is used. At the limit keys are evicted, or writes refused. */
export function fullness(share: number): Alert {
  if (share >= FULL.broken) return 'broken';
  return share >= FULL.attention ? 'attention' : undefined;
}

/** Of a share of a processor. Busy is no fault yet. */
export const busyness = (share: number): Alert => (share >= BUSY ? 'attention' : undefined);
