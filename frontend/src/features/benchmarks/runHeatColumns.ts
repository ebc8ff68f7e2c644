/** Columns of a run's heat map, computed from its histograms per second. Pure. */
import { rowOf } from '@/ui/chart/heat/grid';
import type { HeatColumn } from '@/ui/chart/heat/types';

/** Rows per power of ten. Rows are 12% wide, buckets of the load generator at most 6%. */
export const PER_DECADE = 20;

/**
 * Return the column of one second. `histogram` maps the upper bound of a bucket in microseconds to
 * the number of requests.
 */
export function columnOfSecond(histogram: Readonly<Record<string, number>>): HeatColumn {
  const rows = new Map<number, number>();
  for (const [micros, count] of Object.entries(histogram)) {
    // The scale starts at one microsecond.
    const row = rowOf(Math.max(1, Number(micros)), PER_DECADE);
    rows.set(row, (rows.get(row) ?? 0) + count);
  }
  return columnOf(1, rows);
}

/** Merge several seconds into one column; undefined without data. */
export function mergeHeatColumns(seconds: readonly HeatColumn[]): HeatColumn | undefined {
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
    (_, index) => rows.get(first + index) ?? 0,
  );
  return { seconds, row: first, counts };
}
