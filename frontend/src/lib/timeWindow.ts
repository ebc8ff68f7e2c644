/** Validation of time windows from the address, fields and buttons. Pure. */

/** 2000-01-01, the earliest time that can be displayed. */
export const EARLIEST = 946_684_800;
/** Retention of the coarsest resolution, in seconds. */
export const MAX_WINDOW_S = 3_660 * 86_400;
/** Tolerance in seconds, because clocks and time zones differ. */
const AHEAD = 86_400;
/** Maximum points of one line. A window that needs more waits for a coarser resolution. */
export const MAX_POINTS = 20_000;

/** Return why [from, to] (epoch seconds) cannot be displayed; undefined if it can. */
export function timeWindowError(from: number, to: number, now: number): string | undefined {
  if (!Number.isFinite(from) || !Number.isFinite(to)) return 'Enter dates in both fields.';
  if (from >= to) return 'The start must be before the end.';
  if (from < EARLIEST) return 'The start must not be before the year 2000.';
  if (to > now + AHEAD) return 'The end must not be in the future.';
  if (to - from > MAX_WINDOW_S) return 'The time range must not exceed ten years.';
  return undefined;
}

export const isDrawable = (from: number, to: number, step: number): boolean =>
  (to - from) / step <= MAX_POINTS;
