/** Conversion of the columns of a source into data for uPlot and into legend figures. Pure. */
import { csvCell } from '@/lib/csv';
import type { Columns, Extremes } from '../types';

export interface Prepared {
  /** Middle of each interval; for intervals of one second, the second itself. */
  x: number[];
  step: number;
  /** Drawn values: cumulative sums for a stacked chart, null for a gap. */
  drawn: (number | null)[][];
  /** Measured values. */
  raw: Float64Array[];
  extremes: Columns['extremes'];
  total: Columns['total'];
  weights: Columns['weights'];
}

export const EMPTY_DATA: Prepared = {
  x: [],
  step: 1,
  drawn: [],
  raw: [],
  extremes: undefined,
  total: undefined,
  weights: undefined,
};

export function prepare(
  columns: Columns,
  kind: 'lines' | 'stacked',
  drawnRows = columns.rows,
): Prepared {
  const { from, step, rows, extremes, total, weights } = columns;
  const half = Math.floor(step / 2);
  const x = Array.from({ length: rows[0]?.length ?? 0 }, (_, index) => from + index * step + half);
  return {
    x,
    step,
    raw: rows,
    extremes,
    total,
    weights,
    drawn: kind === 'lines' ? drawnRows.map(withGaps) : stack(drawnRows, x.length),
  };
}

function stack(raw: Float64Array[], length: number): (number | null)[][] {
  // The first series is the bottom layer; the last line is the total.
  const drawn: (number | null)[][] = raw.map(() => new Array(length).fill(null));
  for (let t = 0; t < length; t += 1) {
    let sum = 0;
    let known = false;
    for (let s = 0; s < raw.length; s += 1) {
      const value = raw[s]?.[t] ?? Number.NaN;
      if (!Number.isNaN(value)) {
        sum += value;
        known = true;
      }
      const row = drawn[s];
      if (row) row[t] = known ? sum : null;
    }
  }
  return drawn;
}

/** Return whether no values are drawn. The axis then has no scale. */
export const isBlank = (drawn: readonly (number | null)[][]): boolean =>
  drawn.every((row) => row.every((value) => value === null));

function withGaps(values: Float64Array): (number | null)[] {
  return Array.from(values, (value) => (Number.isNaN(value) ? null : value));
}

export interface Figures {
  min: number;
  avg: number;
  max: number;
  last: number;
}

/** Return how many intervals old the last value can be. Samples can arrive late. */
export const maxLateIntervals = (step: number): number => (step === 1 ? 4 : 2);

/** Return the figures of one series of a chart. */
export function figuresOf(data: Prepared, index: number): Figures {
  const values = data.raw[index] ?? new Float64Array();
  return figures(
    values,
    maxLateIntervals(data.step),
    data.extremes?.[index],
    data.weights?.[index],
  );
}

const known = (extreme: number | undefined, value: number): number =>
  extreme === undefined || Number.isNaN(extreme) ? value : extreme;

/** Return min, avg, max and last; NaN if there are no samples. `last` considers only the most recent intervals. */
export function figures(
  values: Float64Array,
  within = maxLateIntervals(1),
  extremes?: Extremes,
  weights?: Float64Array,
): Figures {
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  let sum = 0;
  let weight = 0;
  let count = 0;
  let last = Number.NaN;
  for (let index = 0; index < values.length; index += 1) {
    const value = values[index] ?? Number.NaN;
    if (Number.isNaN(value)) continue;
    const behind = weights?.[index] ?? Number.NaN;
    const counts = Number.isNaN(behind) ? 1 : behind;
    min = Math.min(min, value, known(extremes?.low[index], value));
    max = Math.max(max, value, known(extremes?.high[index], value));
    sum += value * counts;
    weight += counts;
    count += 1;
    if (index >= values.length - within) last = value;
  }
  if (!count) return { min: Number.NaN, avg: Number.NaN, max: Number.NaN, last };
  return { min, avg: sum / weight, max, last };
}

export function toCsv(
  { x, step, raw }: Pick<Prepared, 'x' | 'step' | 'raw'>,
  labels: readonly string[],
): string {
  const head = ['time', ...labels].map(csvCell).join(',');
  const rows = x.map((middle, index) => {
    const second = middle - Math.floor(step / 2);
    const values = raw.map((series) => {
      const value = series[index] ?? Number.NaN;
      return Number.isNaN(value) ? '' : String(value);
    });
    return [new Date(second * 1000).toISOString(), ...values].join(',');
  });
  return [head, ...rows].join('\n');
}

/** Return a round number of at least `value`, so that the axis does not change with every sample. */
export function niceCeiling(value: number, binary: boolean): number {
  if (!(value > 0)) return 1;
  const base = binary ? 1024 ** Math.floor(Math.log(value) / Math.log(1024)) : 1;
  const scaled = value / base;
  const power = 10 ** Math.floor(Math.log10(scaled));
  const step = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].find((s) => s * power >= scaled) ?? 10;
  return step * power * base;
}
