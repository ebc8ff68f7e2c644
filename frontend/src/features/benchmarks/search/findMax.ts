/** Texts and chart points of a search for the highest rate within a latency limit. Pure. */
import type { Benchmark, FindMax, FindMaxResult, SearchStep } from '@/api/types';
import { format } from '@/lib/format';

const LIMIT_TEXTS: Record<FindMax['limit'], string> = {
  average_ms: 'average latency',
  p99_ms: 'P99 latency',
};

export const limitText = ({ limit, ms }: Pick<FindMax, 'limit' | 'ms'>) =>
  `${LIMIT_TEXTS[limit]} ≤ ${ms} ms`;

/** Describe the search of a phase. */
export const searchText = (search: FindMax) => `highest rate with ${limitText(search)}`;

/** Return the search of a run; undefined if it does not search. */
export const searchOf = (run: Pick<Benchmark, 'phases'>): FindMax | undefined =>
  run.phases.at(-1)?.find_max ?? undefined;

/** Return the step of a repetition of the last phase; undefined if the run does not search. */
export function stepOf(
  run: Pick<Benchmark, 'phases' | 'search'>,
  part: { phase: number; repetition: number },
): SearchStep | undefined {
  return part.phase === run.phases.length - 1 ? run.search[part.repetition] : undefined;
}

/** Name a step by its rate. */
export function stepText({ purpose, rate }: Pick<SearchStep, 'purpose' | 'rate'>): string {
  if (rate === null) return 'closed loop';
  return `${format('ops', rate)}${purpose === 'confirmation' ? ', confirmation' : ''}`;
}

const REASONS: Record<NonNullable<SearchStep['limited_by']>, string> = {
  database: 'by the database',
  generator: 'by the load generator',
  connections: 'by the number of connections',
};

/** Describe the result of a step. */
export function stepResult(step: SearchStep): string {
  if (step.met === null) return 'not measured';
  const result = step.met
    ? 'limit met'
    : `limit missed${step.limited_by ? `, ${REASONS[step.limited_by]}` : ''}`;
  return step.steady ? result : `${result}; the seconds differ, so the step is repeated`;
}

export interface RatePoint {
  rate: number;
  ms: number;
}

export interface RateCurve {
  name: string;
  /** In ascending order of rates. */
  points: readonly RatePoint[];
}

/** Return the limited latency by rate. */
export function rateCurve(name: string, { limit, curve }: FindMaxResult): RateCurve {
  const points = curve.flatMap(([rate, average, p99]) => {
    const ms = limit === 'average_ms' ? average : p99;
    return ms === null ? [] : [{ rate, ms }];
  });
  return { name, points };
}

/** Height of the chart in multiples of the limit. The latency of an overloaded database would hide all other points. */
const AXIS_LIMITS = 3;

export const axisTop = (limitMs: number) => limitMs * AXIS_LIMITS;

/** Return the latency that was measured at a rate; undefined if none was. */
export const latencyAt = (curves: readonly RateCurve[], rate: number): number | undefined =>
  curves.flatMap(({ points }) => points).find((point) => point.rate === rate)?.ms;

/** Return the measured rate that is nearest to `position`. */
export function nearestRate(curves: readonly RateCurve[], position: number): number | undefined {
  let best: number | undefined;
  for (const { rate } of curves.flatMap(({ points }) => points)) {
    if (best === undefined || Math.abs(rate - position) < Math.abs(best - position)) best = rate;
  }
  return best;
}
