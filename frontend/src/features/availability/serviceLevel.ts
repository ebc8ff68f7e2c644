/** Availability compared with a target (SLA), and incidents by database. Pure. */
import { followingMonth } from '@/api/failures/availability';
import type { AvailabilityMonth } from '@/api/types';
import { formatPreciseDuration } from '@/lib/time';

export const DEFAULT_TARGET = 99.999;

export type Verdict = 'met' | 'missed' | 'unknown';

/** Return whether the known time of a month meets the target. */
export function verdictOf(
  { percent }: Pick<AvailabilityMonth, 'percent'>,
  target: number,
): Verdict {
  if (percent === null) return 'unknown';
  return percent >= target ? 'met' : 'missed';
}

/** Return the seconds that a target allows to fail in a complete month. */
export function allowedSeconds(month: string, target: number): number {
  const length = Date.parse(`${followingMonth(month)}-01`) - Date.parse(`${month}-01`);
  return ((length / 1000) * (100 - target)) / 100;
}

/** Format with all digits, because "100%" must mean that no failure is known. */
export const percentText = (percent: number | null): string =>
  percent === null ? '–' : `${percent.toFixed(percent === 100 ? 0 : 5)}%`;

export const secondsText = (seconds: number): string =>
  seconds === 0 ? '0' : formatPreciseDuration(seconds);

/** Return the share of the counted time that is unknown, 0 to 1. */
export function unknownShare({ served, failed, unknown }: AvailabilityMonth): number {
  const counted = served + failed + unknown;
  return counted ? unknown / counted : 0;
}

/** Return a target in percent from a form or an address; undefined if it is invalid. */
export function parseTarget(value: unknown): number | undefined {
  if (value === '' || value === null || value === undefined) return undefined;
  const target = Number(value);
  return target > 0 && target <= 100 ? target : undefined;
}
