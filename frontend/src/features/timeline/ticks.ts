/** Where the time axis has its labels. Pure. */

const STEPS = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400,
];

/** Whole multiples of a round step, at most `most` in the window, and one beyond each end for sliding. */
export function ticksOf(from: number, to: number, most: number): { step: number; at: number[] } {
  const step =
    STEPS.find((size) => (to - from) / size <= most) ??
    86_400 * Math.ceil((to - from) / 86_400 / most);
  const first = Math.floor(from / step) * step;
  const count = Math.ceil((to - first) / step) + 2;
  return { step, at: Array.from({ length: count }, (_, index) => first + index * step) };
}
