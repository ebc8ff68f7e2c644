/**
 * Stored history as numeric columns: conversion of replies, concatenation, and extraction of a
 * window. Pure.
 */
import type { History } from '@/api/metrics/history';

export interface HistoryColumns {
  /** Epoch second at which the first interval starts; `step` is the length of an interval in seconds. */
  from: number;
  step: number;
  count: number;
  /** Values by uid and metric; NaN for a gap. */
  series: ReadonlyMap<string, ReadonlyMap<string, Float64Array>>;
}

/** Share of an interval that must have passed. Before that, its average varies too much. */
const MIN_ELAPSED_SHARE = 0.2;

/** Convert a reply. `now`: time of the reply in epoch seconds. */
export function toHistoryColumns(reply: History, now: number): HistoryColumns {
  const { from, step, count, metrics } = reply;
  const isIncomplete = now - (from + (count - 1) * step) < step * MIN_ELAPSED_SHARE && count > 1;
  const length = step > 1 && isIncomplete ? count - 1 : count;
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

export const historyEnd = ({ from, step, count }: HistoryColumns): number => from + step * count;

/** Append `newer` to `older`, from epoch second `start`. Where they overlap, `newer` has precedence. */
export function appendHistory(
  older: HistoryColumns,
  newer: HistoryColumns,
  start: number,
): HistoryColumns {
  const { step } = newer;
  const from = Math.max(older.from, start);
  const count = (historyEnd(newer) - from) / step;
  const series = new Map<string, Map<string, Float64Array>>();
  for (const uid of new Set([...older.series.keys(), ...newer.series.keys()])) {
    const before = older.series.get(uid);
    const after = newer.series.get(uid);
    const names = [...(after ?? before ?? new Map()).keys()];
    const rows = names.map((name): [string, Float64Array] => {
      const row = new Float64Array(count).fill(Number.NaN);
      copyTo(row, before?.get(name), (older.from - from) / step);
      copyTo(row, after?.get(name), (newer.from - from) / step);
      return [name, row];
    });
    series.set(uid, new Map(rows));
  }
  return { from, step, count, series };
}

/** Copy `values` to `row`, starting at index `at`, which may be negative. */
function copyTo(row: Float64Array, values: Float64Array | undefined, at: number): void {
  if (!values) return;
  const first = Math.max(0, -at);
  const last = Math.min(values.length, row.length - at);
  if (last > first) row.set(values.subarray(first, last), at + first);
}

/** Return the intervals of one row that overlap [from, to]; NaN without data. */
export function sliceWindow(
  columns: HistoryColumns,
  uid: string,
  metric: string,
  { from, to }: { from: number; to: number },
): Float64Array {
  const first = Math.floor((from - columns.from) / columns.step);
  const last = Math.ceil((to - columns.from) / columns.step);
  const row = new Float64Array(Math.max(0, last - first)).fill(Number.NaN);
  copyTo(row, columns.series.get(uid)?.get(metric), -first);
  return row;
}

/** Return the start of the first interval that `sliceWindow` returns. */
export function sliceStart(columns: HistoryColumns, from: number): number {
  return columns.from + Math.floor((from - columns.from) / columns.step) * columns.step;
}
