/** Freshness of the displayed data. Pure. */

/** waiting: no samples yet; partial: some nodes or totals are missing; late: the newest sample is old; lost: no connection. */
export type Freshness = 'waiting' | 'fresh' | 'partial' | 'late' | 'lost';

/** Maximum age of the newest sample. Samples arrive every second within half a second; a few may get lost. */
export const LATE_MS = 4_000;

/**
 * Return the freshness. `sampledAt`: time of the newest sample by the console's clock. `receivedAt`: time of
 * its arrival by the browser's clock, like `now`. A sample with a long transmission time is late even
 * if it has just arrived. `isComplete`: whether all nodes and totals are known in the newest seconds.
 */
export function freshness(
  { sampledAt, receivedAt }: { sampledAt: number; receivedAt: number },
  now: number,
  offset: number,
  isLost: boolean,
  isComplete = true,
): Freshness {
  if (isLost) return 'lost';
  if (Number.isNaN(receivedAt)) return 'waiting';
  if (now - receivedAt > LATE_MS || now + offset - sampledAt > 2 * LATE_MS) return 'late';
  return isComplete ? 'fresh' : 'partial';
}
