/** Where the time axis has its labels. Pure. */
import type { Zone } from '@/lib/time';

const DAY = 86_400;
const STEPS = [
  1,
  2,
  5,
  10,
  15,
  30,
  60,
  120,
  300,
  600,
  900,
  1800,
  3600,
  7200,
  14_400,
  21_600,
  43_200,
  DAY,
];

/** Seconds that the reader's clock is ahead of UTC at an instant. */
const ahead = (second: number, zone: Zone): number =>
  zone === 'utc' ? 0 : -new Date(second * 1000).getTimezoneOffset() * 60;

/**
 * Whole multiples of a round step by the reader's clock, at most `most` in the window, and one beyond each end for
 * sliding. Where the clock is set within the window, labels go on standing at round times.
 */
export function ticksOf(
  from: number,
  to: number,
  most: number,
  zone: Zone,
): { step: number; at: number[] } {
  const step =
    STEPS.find((size) => (to - from) / size <= most) ?? DAY * Math.ceil((to - from) / DAY / most);
  const first = Math.floor((from + ahead(from, zone)) / step) * step;
  const count = Math.ceil((to + ahead(to, zone) - first) / step) + 2;
  const at = Array.from({ length: count }, (_, index) => {
    const wall = first + index * step;
    const near = wall - ahead(wall, zone);
    return wall - ahead(near, zone);
  });
  return { step, at: [...new Set(at)] };
}
