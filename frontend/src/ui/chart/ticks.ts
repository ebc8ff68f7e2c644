/** Positions of the labels on a time axis that several plots share. */
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

/** Maximum number of labels of a time axis that several plots share. */
const [MAX_TICKS, MAX_TICKS_PHONE] = [8, 2];
export const PHONE = '(max-width: 600px)';

/** Return the seconds between two labels of a shared time axis whose window has a length in seconds. */
export const sharedStep = (length: number, isPhone = window.matchMedia(PHONE).matches): number =>
  stepFor(length, isPhone ? MAX_TICKS_PHONE : MAX_TICKS);

/** Return the smallest round step with at most `maxTicks` labels. */
export const stepFor = (length: number, maxTicks: number): number =>
  STEPS.find((size) => length / size <= maxTicks) ?? DAY * Math.ceil(length / DAY / maxTicks);

/**
 * Return the multiples of a step in the user's time zone that lie in the window, and one beyond each
 * end, because the axis moves. Labels stay at round times across a daylight saving change.
 */
export function ticksOf(from: number, to: number, step: number, zone: Zone): number[] {
  const first = Math.floor((from + utcOffset(from, zone)) / step) * step;
  const count = Math.ceil((to + utcOffset(to, zone) - first) / step) + 2;
  const at = Array.from({ length: count }, (_, index) => {
    const localSecond = first + index * step;
    const estimate = localSecond - utcOffset(localSecond, zone);
    return localSecond - utcOffset(estimate, zone);
  });
  return [...new Set(at)];
}
