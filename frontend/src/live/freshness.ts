/** Freshness of the displayed data. Pure. */

/** waiting: no samples yet; late: the newest sample is old; lost: no connection. */
export type Freshness = 'waiting' | 'fresh' | 'late' | 'lost';

/** Maximum age of the newest sample. Samples arrive every second within half a second; a few may get lost. */
export const LATE_MS = 4_000;

/**
 * Return the freshness. `taken`: time of the newest sample by the console's clock. `arrived`: time of
 * its arrival by the browser's clock, like `now`. A sample with a long transmission time is late even
 * if it has just arrived.
 */
export function freshness(
  { taken, arrived }: { taken: number; arrived: number },
  now: number,
  offset: number,
  lost: boolean,
): Freshness {
  if (lost) return 'lost';
  if (Number.isNaN(arrived)) return 'waiting';
  return now - arrived > LATE_MS || now + offset - taken > 2 * LATE_MS ? 'late' : 'fresh';
}
