/** Axis positions and table rows of latency percentiles. Pure. */
import type { Percentile } from '@/api/types';
import { niceCeiling } from '@/ui/chart/data/prepare';

export interface Curve {
  name: string;
  points: readonly Percentile[];
}

/** Percentiles of the table, if available. */
const TABLE_PERCENTILES = [0, 50, 75, 90, 95, 99, 99.9, 99.99, 99.999, 99.9999, 100];

/**
 * Return the decades of 1 / (1 - p): 0 at P0, 1 at P90, 2 at P99. `percentileAxisEnd` defines the position of
 * the slowest request.
 */
export function decadesOf(percentile: number): number {
  return -Math.log10(1 - percentile / 100);
}

/**
 * Return the end of the axis: half a decade after the last percentile below 100. The slowest
 * request is drawn there.
 */
export function percentileAxisEnd(curves: readonly Curve[]): number {
  const last = curves.flatMap(({ points }) =>
    points.filter(({ percentile }) => percentile < 100).map(({ percentile }) => percentile),
  );
  return decadesOf(Math.max(0, ...last)) + 0.5;
}

/** Return the position of a percentile on an axis that ends at `end`: 0 to 1. */
export function percentilePosition(percentile: number, end: number): number {
  return percentile >= 100 ? 1 : decadesOf(percentile) / end;
}

/**
 * Minimum distance between labels, and before the label of the slowest request, which is aligned to
 * the edge. Shares of the axis.
 */
const LABEL_DISTANCE = 0.1;
const DISTANCE_BEFORE_SLOWEST = 0.14;

/** Return the labeled percentiles: 0, 50, 90, 99, 99.9, … and the slowest request, as far as labels fit. */
export function ticksOf(end: number): number[] {
  const ticks = percentilePosition(50, end) < LABEL_DISTANCE ? [50] : [0, 50];
  for (
    let nines = 1;
    nines <= end * (1 - DISTANCE_BEFORE_SLOWEST);
    nines += Math.ceil(LABEL_DISTANCE * end)
  ) {
    ticks.push(asPercent(nines));
  }
  return [...ticks, 100];
}

/** Return the labeled values of an axis from 0: about four round steps, the last one not below `top`. */
export function axisLevels(top: number): number[] {
  const step = niceCeiling(top / 4, false);
  return Array.from({ length: Math.ceil(top / step) + 1 }, (_, line) => line * step);
}

/** Convert a number of nines to a percentage, rounded to avoid binary fractions. */
function asPercent(nines: number): number {
  return Number((100 * (1 - 10 ** -nines)).toFixed(Math.max(0, nines - 2)));
}

/** Return the percentiles of all curves in ascending order. */
export function percentilesOf(curves: readonly Curve[]): number[] {
  const all = new Set(curves.flatMap(({ points }) => points.map(({ percentile }) => percentile)));
  return [...all].sort((a, b) => a - b);
}

/** Return the measured percentile that is nearest to a position on the axis. */
export function nearestPercentile(
  curves: readonly Curve[],
  position: number,
  end: number,
): number | undefined {
  let best: number | undefined;
  for (const percentile of percentilesOf(curves)) {
    const nearer =
      best === undefined ||
      Math.abs(percentilePosition(percentile, end) - position) <
        Math.abs(percentilePosition(best, end) - position);
    if (nearer) best = percentile;
  }
  return best;
}

/** Return the latency at exactly this percentile; undefined if too few requests were measured. */
export function valueAt(curve: Curve, percentile: number): number | undefined {
  return curve.points.find((point) => point.percentile === percentile)?.ms;
}

export interface PercentileRow {
  percentile: number;
  values: (number | undefined)[];
}

export function rowsOf(curves: readonly Curve[]): PercentileRow[] {
  return TABLE_PERCENTILES.map((percentile) => ({
    percentile,
    values: curves.map((curve) => valueAt(curve, percentile)),
  })).filter(({ values }) => values.some((value) => value !== undefined));
}

export function percentileLabel(percentile: number): string {
  if (percentile >= 100) return 'Slowest';
  if (percentile <= 0) return 'Fastest';
  // Two digits after the nines distinguish any two points.
  const digits = Math.max(0, Math.ceil(decadesOf(percentile)) - 1) + 1;
  return `P${Number(percentile.toFixed(digits))}`;
}
