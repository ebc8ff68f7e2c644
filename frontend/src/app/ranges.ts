/** Selectable time ranges with their labels, and reasons why a range is not useful. Pure. */
import { dated, year } from '@/lib/dates';
import { clock, duration, type Zone } from '@/lib/time';
import { RANGES, type Range } from './search';

const RANGE_LABELS: Readonly<Record<Range, string>> = {
  60: '1 min',
  300: '5 min',
  900: '15 min',
  3600: '1 h',
  21600: '6 h',
  86400: '24 h',
  604800: '7 days',
  2592000: '30 days',
  31536000: '1 year',
};

/** Ranges with samples of every second from the stream. Longer ranges show stored averages. */
export const LIVE_RANGES = RANGES.filter((seconds) => seconds <= 900);
export const STORED_RANGES = RANGES.filter((seconds) => seconds > 900);

export const rangeLabel = (range: Range): string => RANGE_LABELS[range];

interface RetainedRange {
  from: number;
  step: number;
  retention: number;
}

/** Return the first stored second from the retained ranges of all resolutions, finest first; NaN if nothing is stored. */
export function oldestSecond(retained: readonly RetainedRange[], now: number): number {
  // Coarse intervals start before their first sample, so use the finest resolution that has not
  // dropped any data yet.
  const complete = retained.find(({ from, step, retention }) => from > now - retention + 2 * step);
  return (complete ?? retained.at(-1))?.from ?? Number.NaN;
}

/** Return why a range shows the same data as a shorter one; undefined if it shows more. */
export function rangeUnavailableReason(
  range: Range,
  oldest: number,
  now: number,
): string | undefined {
  const shorter = RANGES[RANGES.indexOf(range) - 1];
  if (range <= 900 || shorter === undefined) return undefined;
  if (Number.isNaN(oldest)) return 'No metrics are stored yet';
  if (now - oldest > shorter) return undefined;
  return `Stored metrics go back ${duration(now - oldest)}: a shorter range shows all of them`;
}

/** 3 Mar 14:03:07–14:05:00 · 3 Mar 14:03–5 Mar 02:00 */
export function formatWindow(from: number, to: number, zone: Zone, now = Date.now()): string {
  const [a, b] = [from * 1000, to * 1000];
  const cut = to - from < 3_600 ? 8 : 5;
  const years = new Set([a, b, now].map((ms) => year(ms, zone)));
  const [first, last] = [a, b].map((ms) => dated(ms, zone, years.size > 1));
  const end = clock(b, zone).slice(0, cut);
  return `${first} ${clock(a, zone).slice(0, cut)}–${first === last ? end : `${last} ${end}`}`;
}
