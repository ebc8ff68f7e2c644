/** Whether what is shown is as new as it looks. Pure. */

/** waiting: nothing has come yet; late: the newest sample is old; lost: there is no connection. */
export type Freshness = 'waiting' | 'fresh' | 'late' | 'lost';

/** A sample a second, told within half a second; some seconds are lost in any network. */
export const LATE_MS = 4_000;

/**
 * By when the newest sample was taken (console's clock) and when it arrived (this one, as `now`). A sample that took
 * long is old, however recently it arrived.
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
