/** Rows, columns and figures of a heat map. Pure. */
import type { Heat, HeatColumn } from './types';

/** Return the axis position at which a second starts. Charts draw a second as a point, so a cell extends half a second to both sides. */
export const axisPositionOf = (second: number): number => second - 0.5;

/** Return the index of the column at an axis position. */
export const columnAt = ({ from, step }: Pick<Heat, 'from' | 'step'>, position: number): number =>
  Math.floor((position - axisPositionOf(from)) / step);

/** Return the lower bound of a row in microseconds. */
export const rowStart = (row: number, perDecade: number): number => 10 ** (row / perDecade);

/** Return the row of a latency. Rounded, because the lower bound of a row would otherwise be in the row below. */
export const rowOf = (micros: number, perDecade: number): number =>
  Math.floor(Number((Math.log10(micros) * perDecade).toFixed(6)));

export const requestsOf = (column: HeatColumn | undefined): number =>
  (column?.counts ?? []).reduce((sum, count) => sum + count, 0);

export const countAt = (column: HeatColumn | undefined, row: number): number =>
  column?.counts[row - column.row] ?? 0;

/** Yield row and requests per second of every row of a column with requests. */
export function* ratesOf({ seconds, row, counts }: HeatColumn): Generator<[number, number]> {
  for (const [index, count] of counts.entries()) {
    if (count > 0) yield [row + index, count / Math.max(1, seconds)];
  }
}

export interface Extent {
  /** First and last row with requests. */
  rows: [number, number];
  /** Lowest and highest requests per second of one cell. */
  rates: [number, number];
}

/** Return the extent of all cells; null if there are no requests. */
export function extentOf(columns: Heat['columns']): Extent | null {
  const rows: [number, number] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  const rates: [number, number] = [Number.POSITIVE_INFINITY, 0];
  for (const column of columns) {
    for (const [row, rate] of column ? ratesOf(column) : []) {
      rows[0] = Math.min(rows[0], row);
      rows[1] = Math.max(rows[1], row);
      rates[0] = Math.min(rates[0], rate);
      rates[1] = Math.max(rates[1], rate);
    }
  }
  return rates[1] > 0 ? { rows, rates } : null;
}

const STEPS = [1, 2, 5];

/** Return 1, 2, 5, 10, 20 … from `low` to `high`, both included. */
export function roundNumbers(low: number, high: number): number[] {
  const found: number[] = [];
  for (let power = Math.floor(Math.log10(low)); 10 ** power <= high; power += 1) {
    for (const step of STEPS) found.push(Number((step * 10 ** power).toPrecision(1)));
  }
  return found.filter((value) => value >= low && value <= high);
}

export const isPowerOfTen = (value: number): boolean =>
  Number.isInteger(Number(Math.log10(value).toFixed(6)));

/** Return the round numbers around a range, so that an axis does not change with every sample. */
export function roundBounds(low: number, high: number): [number, number] {
  const near = roundNumbers(low / 10, high * 10);
  const [from = low, to = high] = [
    near.findLast((value) => value <= low * 1.001),
    near.find((value) => value >= high * 0.999),
  ];
  return to > from ? [from, to] : [from, near[near.indexOf(from) + 1] ?? to];
}

/** Return the labels of a logarithmic axis; only powers of ten if there is little space. */
export function ticks(low: number, high: number, maxLabels: number): number[] {
  const all = roundNumbers(low, high);
  if (all.length <= maxLabels) return all;
  const tens = all.filter(isPowerOfTen);
  const stride = Math.max(1, Math.ceil(tens.length / Math.max(1, maxLabels)));
  return tens.filter((_, index) => index % stride === 0);
}

export interface Summary {
  requests: number;
  /** Row with the most requests, and slowest row. */
  busiest: number;
  slowest: number;
}

/** Return the summary of a heat map; null if there are no requests. */
export function summaryOf(columns: Heat['columns']): Summary | null {
  const byRow = new Map<number, number>();
  for (const column of columns) {
    for (const [index, count] of (column?.counts ?? []).entries()) {
      if (count > 0 && column) {
        byRow.set(column.row + index, (byRow.get(column.row + index) ?? 0) + count);
      }
    }
  }
  const rows = [...byRow].sort((a, b) => b[1] - a[1]);
  if (!rows[0]) return null;
  return {
    requests: rows.reduce((sum, [, count]) => sum + count, 0),
    busiest: rows[0][0],
    slowest: Math.max(...byRow.keys()),
  };
}

/** Return spans in which requests were not counted, as [from, to] in epoch seconds. */
export function gapsOf({ from, step, columns }: Heat): [number, number][] {
  const found: [number, number][] = [];
  for (const [index, column] of columns.entries()) {
    if (column?.seconds !== 0) continue;
    const at = from + index * step;
    const last = found.at(-1);
    if (last?.[1] === at) last[1] = at + step;
    else found.push([at, at + step]);
  }
  return found;
}

export function toCsv({ from, step, perDecade, columns }: Heat): string {
  const lines = columns.flatMap((column, index) => {
    const time = new Date((from + index * step) * 1000).toISOString();
    return (column?.counts ?? []).flatMap((count, position) => {
      const bounds = [0, 1].map((end) =>
        rowStart((column?.row ?? 0) + position + end, perDecade).toPrecision(4),
      );
      return count ? [[time, ...bounds, count, column?.seconds].join(',')] : [];
    });
  });
  return ['time,from (µs),to (µs),requests,seconds', ...lines].join('\n');
}
