/** Steps and labels of the time axis, from a minute to years. */
import { dated, year } from '@/lib/dates';
import { clock, type Zone } from '@/lib/time';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Seconds between two labels. From a month on, uPlot counts months instead of seconds. */
export const TIME_STEPS: number[] = [
  ...[1, 2, 5, 10, 15, 30],
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * MINUTE),
  ...[1, 2, 3, 6, 12].map((hours) => hours * HOUR),
  ...[1, 2, 4, 7, 14].map((days) => days * DAY),
  ...[30, 61, 91, 182].map((days) => days * DAY),
];

const isNewYear = (ms: number, zone: Zone): boolean =>
  year(ms, zone) !== year(ms - DAY * 1000, zone);

/** Format a label with the precision of the step (14:03:07 · 14:03 · 3 Mar), and with the date at the start of a day. */
export function timeLabel(second: number, step: number, zone: Zone): string {
  const ms = second * 1000;
  const text = clock(ms, zone);
  if (step >= 30 * DAY) return dated(ms, zone, true);
  if (step >= DAY || text === '00:00:00') return dated(ms, zone, isNewYear(ms, zone));
  return step >= MINUTE ? text.slice(0, 5) : text;
}
