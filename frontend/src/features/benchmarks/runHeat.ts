/** Columns of a run's heat map, from the histograms of its seconds. Pure. */
import { rowOf } from '@/ui/chart/heat/grid';
import type { HeatColumn } from '@/ui/chart/heat/types';

/** The generator's buckets are at most 6 % wide, these rows 12 %. */
export const PER_DECADE = 20;

/** One second: requests by the most microseconds that they took. */
export function secondOf(histogram: Readonly<Record<string, number>>): HeatColumn {
  const rows = new Map<number, number>();
  for (const [micros, count] of Object.entries(histogram)) {
    // Nothing is below a microsecond.
    const row = rowOf(Math.max(1, Number(micros)), PER_DECADE);
    rows.set(row, (rows.get(row) ?? 0) + count);
  }
  return columnOf(1, rows);
}

/** Several seconds as one column; undefined when none of them is known. */
export function together(seconds: readonly HeatColumn[]): HeatColumn | undefined {
  if (seconds.length <= 1) return seconds[0];
  const rows = new Map<number, number>();
  for (const { row, counts } of seconds) {
    for (const [index, count] of counts.entries()) {
      rows.set(row + index, (rows.get(row + index) ?? 0) + count);
    }
  }
  return columnOf(
    seconds.reduce((sum, each) => sum + each.seconds, 0),
    rows,
  );
}

function columnOf(seconds: number, rows: ReadonlyMap<number, number>): HeatColumn {
  if (!rows.size) return { seconds, row: 0, counts: [] };
  const [first, last] = [Math.min(...rows.keys()), Math.max(...rows.keys())];
  const counts = Array.from(
    { length: last - first + 1 },
    (_, place) => rows.get(first + place) ?? 0,
  );
  return { seconds, row: first, counts };
}
