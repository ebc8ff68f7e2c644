/** Thresholds above which a value is highlighted, shared by all pages. Pure. */

export type Alert = 'attention' | 'broken' | undefined;

const FULL = { attention: 0.8, broken: 0.95 };
const BUSY = 0.9;

/** Return the alert level of used memory (0 to 1). At the limit, keys are evicted or writes are refused. */
export function memoryAlert(share: number): Alert {
  if (share >= FULL.broken) return 'broken';
  return share >= FULL.attention ? 'attention' : undefined;
}

/** Return the alert level of CPU usage (0 to 1). High usage is not an error. */
export const cpuAlert = (share: number): Alert => (share >= BUSY ? 'attention' : undefined);
