/**
 * Resolutions of the stored metrics, and the choice of one for a time window. The console decides which one it
 * sends; this predicts it, so that windows move in complete intervals.
 */

const DAY = 86_400;
/** 1970-01-05, the first Monday: weeks start there, and it is a multiple of every shorter interval. */
const MONDAY = 4 * DAY;

interface Resolution {
  /** Seconds of one interval. */
  step: number;
  /** Retention in seconds. */
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

/** Return the start of the interval that contains `second`. */
export function intervalStart(second: number, step: number): number {
  return second - ((((second - MONDAY) % step) + step) % step);
}

/** Return the end of the interval that contains the second before `second`. */
export function intervalEnd(second: number, step: number): number {
  return intervalStart(second + step - 1, step);
}

/** Return the number of intervals that overlap [from, to). */
export function intervalCount(from: number, to: number, step: number): number {
  return from < to ? (intervalEnd(to, step) - intervalStart(from, step)) / step : 0;
}

/** Return the finest step that covers [from, to) with at most `points` intervals and still has data for its start. */
export function chooseStep(from: number, to: number, points: number, now: number): number {
  const available = RESOLUTIONS.filter(({ retention }) => now - from <= retention);
  const fits = available.find(({ step }) => intervalCount(from, to, step) <= points);
  return (fits ?? available.at(-1) ?? RESOLUTIONS[RESOLUTIONS.length - 1])?.step ?? 1;
}

export function isStep(value: number): boolean {
  return RESOLUTIONS.some(({ step }) => step === value);
}
