/** Which intervals can be shown: everything that comes in from outside (address, fields, buttons) is checked here. Pure. */

/** 2000-01-01. Nothing that is shown is older. */
export const EARLIEST = 946_684_800;
/** As far back as the coarsest resolution is kept. */
export const WIDEST = 3_660 * 86_400;
/** Clocks differ, and days do by zone. */
const AHEAD = 86_400;
/** Values of one line that are worth drawing; a window that would need more waits for coarser ones. */
export const MOST_POINTS = 20_000;

/** Why [from, to], epoch seconds, cannot be shown, in words; undefined when it can. */
export function windowFault(from: number, to: number, now: number): string | undefined {
  if (!Number.isFinite(from) || !Number.isFinite(to)) return 'Both ends must be dates.';
  if (from >= to) return 'The beginning must be before the end.';
  if (from < EARLIEST) return 'Nothing is older than the year 2000.';
  if (to > now + AHEAD) return 'The end lies in the future.';
  if (to - from > WIDEST) return 'Ten years are shown at most.';
  return undefined;
}

export const isDrawable = (from: number, to: number, step: number): boolean =>
  (to - from) / step <= MOST_POINTS;
