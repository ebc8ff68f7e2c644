/** Freshness of the displayed data. Pure. */

/** waiting: no samples yet; late: the newest sample is old; lost: no connection. */
export type Freshness = 'waiting' | 'fresh' | 'late' | 'lost';

/** Maximum age of the newest sample. Samples arrive every second within half a second; a few may get lost. */
export const LATE_MS = 4_000;

/**
 * Return the freshness. `sampledAt`: time of the newest sample by the console's clock. `receivedAt`: time of
 * its arrival by the browser's clock, like `now`. A sample with a long transmission time is late even
 * if it has just arrived.
 */
export function freshness(
  { sampledAt, receivedAt }: { sampledAt: number; receivedAt: number },
  now: number,
  offset: number,
  isLost: boolean,
): Freshness {
  if (isLost) return 'lost';
  if (Number.isNaN(receivedAt)) return 'waiting';
  return now - receivedAt > LATE_MS || now + offset - sampledAt > 2 * LATE_MS ? 'late' : 'fresh';
}
