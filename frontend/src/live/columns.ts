/** History as columns of numbers: from the reply, appended to, and cut to a window. Pure. */
import type { History } from '@/api/history';

export interface PastColumns {
  /** Epoch second at which the first interval begins, and seconds of each. */
  from: number;
  step: number;
  count: number;
  /** By uid and metric; NaN for a gap. */
  series: ReadonlyMap<string, ReadonlyMap<string, Float64Array>>;
}

/** An interval that has just begun says little: its average jumps about. */
const TOO_YOUNG = 0.2;

/** `now` is when the reply was made, epoch seconds. */
export function toColumns(reply: History, now: number): PastColumns {
  const { from, step, count, metrics } = reply;
  const young = now - (from + (count - 1) * step) < step * TOO_YOUNG && count > 1;
  const length = step > 1 && young ? count - 1 : count;
  const series = new Map(
    Object.entries(reply.series).map(([uid, rows]) => [
      uid,
      new Map(metrics.map((metric, index) => [metric, numbers(rows[index] ?? [], count, length)])),
    ]),
  );
  return { from, step, count, series };
}

function numbers(row: readonly (number | null)[], count: number, length: number): Float64Array {
  const result = new Float64Array(count).fill(Number.NaN);
  for (let index = 0; index < length; index += 1) result[index] = row[index] ?? Number.NaN;
  return result;
}

export const endOf = ({ from, step, count }: PastColumns): number => from + step * count;

/** `older` continued by `newer`, which knows better where they overlap; from `keep` on. */
export function append(older: PastColumns, newer: PastColumns, keep: number): PastColumns {
  const { step } = newer;
  const from = Math.max(older.from, keep);
  const count = (endOf(newer) - from) / step;
  const series = new Map<string, Map<string, Float64Array>>();
  for (const uid of new Set([...older.series.keys(), ...newer.series.keys()])) {
    const before = older.series.get(uid);
    const after = newer.series.get(uid);
    const names = [...(after ?? before ?? new Map()).keys()];
    const joined = names.map((name): [string, Float64Array] => {
      const row = new Float64Array(count).fill(Number.NaN);
      place(row, before?.get(name), (older.from - from) / step);
      place(row, after?.get(name), (newer.from - from) / step);
      return [name, row];
    });
    series.set(uid, new Map(joined));
  }
  return { from, step, count, series };
}

/** Copies `values` into `row` beginning at `at`, which may lie before the row. */
function place(row: Float64Array, values: Float64Array | undefined, at: number): void {
  if (!values) return;
  const first = Math.max(0, -at);
  const last = Math.min(values.length, row.length - at);
  if (last > first) row.set(values.subarray(first, last), at + first);
}

/** The intervals of one row that touch [from, to]; NaN where nothing is known. */
export function cut(
  columns: PastColumns,
  uid: string,
  metric: string,
  { from, to }: { from: number; to: number },
): Float64Array {
  const first = Math.floor((from - columns.from) / columns.step);
  const last = Math.ceil((to - columns.from) / columns.step);
  const row = new Float64Array(Math.max(0, last - first)).fill(Number.NaN);
  place(row, columns.series.get(uid)?.get(metric), -first);
  return row;
}

/** Beginning of the first interval that `cut` returns. */
export function cutFrom(columns: PastColumns, from: number): number {
  return columns.from + Math.floor((from - columns.from) / columns.step) * columns.step;
}
