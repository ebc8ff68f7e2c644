/** Positions of the labels on the time axis. Pure. */
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

/** Return the offset of the user's time zone from UTC at an instant, in seconds. */
const utcOffset = (second: number, zone: Zone): number =>
  zone === 'utc' ? 0 : -new Date(second * 1000).getTimezoneOffset() * 60;

/**
 * Return multiples of a round step in the user's time zone: at most `maxTicks` in the window, and one
 * beyond each end, because the axis moves. Labels stay at round times across a daylight saving change.
 */
export function ticksOf(
  from: number,
  to: number,
  maxTicks: number,
  zone: Zone,
): { step: number; at: number[] } {
  const step =
    STEPS.find((size) => (to - from) / size <= maxTicks) ??
    DAY * Math.ceil((to - from) / DAY / maxTicks);
  const first = Math.floor((from + utcOffset(from, zone)) / step) * step;
  const count = Math.ceil((to + utcOffset(to, zone) - first) / step) + 2;
  const at = Array.from({ length: count }, (_, index) => {
    const localSecond = first + index * step;
    const estimate = localSecond - utcOffset(localSecond, zone);
    return localSecond - utcOffset(estimate, zone);
  });
  return { step, at: [...new Set(at)] };
}
