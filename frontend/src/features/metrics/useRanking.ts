/** Outliers first. Ranks now and then, not with every sample: tiles that swap places cannot be read. */
import { useEffect, useState } from 'react';
import { useSeries } from '@/live/useSeries';
import { useTimeAxis } from '@/ui/chart/TimeAxisContext';
import { type ComparedMetric, type Group, seriesOf } from './compared';
import { byOutlier } from './outliers';

const EVERY_MS = 10_000;
/** The first samples of a topic arrive a moment after it was asked for. */
const SOON_MS = 1_500;

export function useRanking(
  topic: string,
  groups: readonly Group[],
  metric: ComparedMetric | undefined,
  all: number,
): readonly Group[] {
  const axis = useTimeAxis();
  const source = useSeries({ topic, series: metric ? seriesOf(groups, metric) : [], all });
  const [order, setOrder] = useState<readonly string[]>([]);
  const keys = groups.map(({ key }) => key).join();

  useEffect(() => {
    const rank = () => {
      const { from, to } = axis.window();
      const { rows } = source.read(from, to);
      const scored = byOutlier(
        keys.split(',').map((uid, index) => ({ uid, values: rows[index] ?? new Float64Array() })),
      );
      const next = scored.map(({ uid }) => uid);
      setOrder((now) => (now.join() === next.join() ? now : next));
    };
    rank();
    const stops = [axis.subscribe(rank)];
    const first = setTimeout(rank, SOON_MS);
    const timer = setInterval(rank, EVERY_MS);
    return () => {
      for (const stop of stops) stop();
      clearTimeout(first);
      clearInterval(timer);
    };
  }, [source, axis, keys]);

  const place = new Map(order.map((key, index) => [key, index]));
  const last = order.length;
  return [...groups].sort((a, b) => (place.get(a.key) ?? last) - (place.get(b.key) ?? last));
}
