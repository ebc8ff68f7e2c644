/**
 * The resolutions history is kept in, and which one suits a window. The console decides what it
 * sends; this says what to expect, so that windows move in whole intervals.
 */

const DAY = 86_400;
/** 1970-01-05 was the first Monday: weeks begin there, and every shorter interval divides it. */
const MONDAY = 4 * DAY;

interface Resolution {
  /** Seconds of one interval. */
  step: number;
  /** Seconds it is kept for. */
  retention: number;
}

const RESOLUTIONS: readonly Resolution[] = [
  { step: 1, retention: 3_600 },
  { step: 10, retention: DAY },
  { step: 300, retention: 14 * DAY },
  { step: 900, retention: 62 * DAY },
  { step: 3_600, retention: 400 * DAY },
  { step: 43_200, retention: 1_098 * DAY },
  { step: 604_800, retention: 3_660 * DAY },
];

/** Beginning of the interval that holds `second`. */
export function intervalStart(second: number, step: number): number {
  return second - ((((second - MONDAY) % step) + step) % step);
}

/** End of the interval that holds the second before `second`. */
export function intervalEnd(second: number, step: number): number {
  return intervalStart(second + step - 1, step);
}

/** How many intervals touch [from, to). */
export function intervalCount(from: number, to: number, step: number): number {
  return from < to ? (intervalEnd(to, step) - intervalStart(from, step)) / step : 0;
}

/** The finest step that covers [from, to) with at most `points` and still has its beginning. */
export function chooseStep(from: number, to: number, points: number, now: number): number {
  const kept = RESOLUTIONS.filter(({ retention }) => now - from <= retention);
  const fits = kept.find(({ step }) => intervalCount(from, to, step) <= points);
  return (fits ?? kept.at(-1) ?? RESOLUTIONS[RESOLUTIONS.length - 1])?.step ?? 1;
}

export function isStep(value: number): boolean {
  return RESOLUTIONS.some(({ step }) => step === value);
}
