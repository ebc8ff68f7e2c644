/** Who comes first. Ranks now and then, not with every sample: what swaps places cannot be read. */
import { useEffect, useState } from 'react';
import { useSeries } from '@/live/useSeries';
import { useTimeAxis } from '@/ui/chart/TimeAxisContext';
import { type ComparedMetric, type Group, seriesOf } from './compared';
import { byOutlier, byValue } from './outliers';

const EVERY_MS = 10_000;
/** Enough of a live window to tell who is different. */
const LATEST = 60;
/** As many lines as one chart has. */
export const TOP = 7;

interface Wanted {
  topic: string;
  groups: readonly Group[];
  metric: ComparedMetric | undefined;
  all: number;
  /** Outliers first, or the highest. */
  by: 'outlier' | 'value';
}

export function useRanking({ topic, groups, metric, all, by }: Wanted): readonly Group[] {
  const axis = useTimeAxis();
  const source = useSeries({ topic, series: metric ? seriesOf(groups, metric) : [], all });
  const [order, setOrder] = useState<readonly string[]>([]);
  const keys = groups.map(({ key }) => key).join();

  useEffect(() => {
    const rank = () => {
      const { from, to } = axis.window();
      const { rows } = source.read(axis.step?.() === 1 ? Math.max(from, to - LATEST) : from, to);
      const series = keys
        .split(',')
        .map((uid, index) => ({ uid, values: rows[index] ?? new Float64Array() }));
      const next = by === 'value' ? byValue(series) : byOutlier(series).map(({ uid }) => uid);
      setOrder((now) => (alike(now, next, by) ? now : next));
      return rows.some((row) => row.some((value) => !Number.isNaN(value)));
    };
    let known = rank();
    const stops = [
      // The first samples of a topic arrive a moment after it was asked for.
      source.subscribe(() => {
        if (!known) known = rank();
      }),
      axis.subscribe(() => {
        known = false;
      }),
    ];
    const timer = setInterval(rank, EVERY_MS);
    return () => {
      for (const stop of stops) stop();
      clearInterval(timer);
    };
  }, [source, axis, keys, by]);

  const place = new Map(order.map((key, index) => [key, index]));
  const last = order.length;
  return [...groups].sort((a, b) => (place.get(a.key) ?? last) - (place.get(b.key) ?? last));
}

/** The same lines in another order are the same chart. */
function alike(now: readonly string[], next: readonly string[], by: Wanted['by']): boolean {
  if (by === 'outlier') return now.join() === next.join();
  const top = (order: readonly string[]) => order.slice(0, TOP).sort().join();
  return now.length === next.length && top(now) === top(next);
}
