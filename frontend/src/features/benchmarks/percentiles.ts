/** Latency by percentile: where points lie, and which of them are told. Pure. */
import type { Percentile } from '@/api/types';
import { niceCeiling } from '@/ui/chart/prepare';

export interface Curve {
  name: string;
  points: readonly Percentile[];
}

/** Percentiles that the table tells, as far as they are known. */
const TOLD = [0, 50, 75, 90, 95, 99, 99.9, 99.99, 99.999, 99.9999, 100];

/** Decades of 1 / (1 - p): 0 at P0, 1 at P90, 2 at P99. The slowest request has a place of its own, see `endOf`. */
export function decadesOf(percentile: number): number {
  return -Math.log10(1 - percentile / 100);
}

/** Where the axis ends: half a decade after the last percentile below 100, where the slowest request is drawn. */
export function endOf(curves: readonly Curve[]): number {
  const last = curves.flatMap(({ points }) =>
    points.filter(({ percentile }) => percentile < 100).map(({ percentile }) => percentile),
  );
  return decadesOf(Math.max(0, ...last)) + 0.5;
}

/** The place of a percentile on an axis that ends at `end`, 0 to 1. */
export function placeOf(percentile: number, end: number): number {
  return percentile >= 100 ? 1 : decadesOf(percentile) / end;
}

/** Shares of the axis: what a label needs from the next one, and from that of the slowest request, which ends at the edge. */
const LABEL = 0.1;
const BEFORE_SLOWEST = 0.14;

/** Percentiles that are labelled: 0, 50, 90, 99, 99.9, … and the slowest, as far as labels have room. */
export function ticksOf(end: number): number[] {
  const ticks = placeOf(50, end) < LABEL ? [50] : [0, 50];
  for (let nines = 1; nines <= end * (1 - BEFORE_SLOWEST); nines += Math.ceil(LABEL * end)) {
    ticks.push(asPercent(nines));
  }
  return [...ticks, 100];
}

/** Levels of latency that are labelled, from 0: about four round steps, the last one not below `top`. */
export function levelsOf(top: number): number[] {
  const step = niceCeiling(top / 4, false);
  return Array.from({ length: Math.ceil(top / step) + 1 }, (_, line) => line * step);
}

/** Nines as a percentage, without the noise of binary fractions. */
function asPercent(nines: number): number {
  return Number((100 * (1 - 10 ** -nines)).toFixed(Math.max(0, nines - 2)));
}

/** Every percentile of any curve, rising. */
export function percentilesOf(curves: readonly Curve[]): number[] {
  const all = new Set(curves.flatMap(({ points }) => points.map(({ percentile }) => percentile)));
  return [...all].sort((a, b) => a - b);
}

/** The known percentile next to a place of the axis. */
export function nearest(curves: readonly Curve[], place: number, end: number): number | undefined {
  let best: number | undefined;
  for (const percentile of percentilesOf(curves)) {
    const nearer =
      best === undefined ||
      Math.abs(placeOf(percentile, end) - place) < Math.abs(placeOf(best, end) - place);
    if (nearer) best = percentile;
  }
  return best;
}

/** What a curve says of exactly this percentile; undefined where too few requests were measured. */
export function valueAt(curve: Curve, percentile: number): number | undefined {
  return curve.points.find((point) => point.percentile === percentile)?.ms;
}

export interface Row {
  percentile: number;
  values: (number | undefined)[];
}

export function rowsOf(curves: readonly Curve[]): Row[] {
  return TOLD.map((percentile) => ({
    percentile,
    values: curves.map((curve) => valueAt(curve, percentile)),
  })).filter(({ values }) => values.some((value) => value !== undefined));
}

export function percentileWord(percentile: number): string {
  if (percentile >= 100) return 'Slowest';
  if (percentile <= 0) return 'Fastest';
  // Two digits after the nines tell any two points apart.
  const digits = Math.max(0, Math.ceil(decadesOf(percentile)) - 1) + 1;
  return `P${Number(percentile.toFixed(digits))}`;
}
