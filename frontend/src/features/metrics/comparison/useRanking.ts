/**
 * Ranking of the compared objects. Updated periodically instead of with every sample, so that
 * charts do not constantly swap places.
 */
import { useEffect, useState } from 'react';
import { useSeries } from '@/live/useSeries';
import { useTimeAxis } from '@/ui/chart/TimeAxisContext';
import { type ComparedMetric, type ComparedObject, comparisonSeries } from './comparisonMetrics';
import { rankByMean, rankByOutlier } from './outliers';

const RANK_INTERVAL_MS = 10_000;
/** Seconds of a live window that the ranking considers. */
const RANKED_SECONDS = 60;
/** Number of lines in one chart. */
export const MAX_CHART_LINES = 7;

interface RankingOptions {
  topic: string;
  groups: readonly ComparedObject[];
  metric: ComparedMetric | undefined;
  topicSize: number;
  /** Sort by outlier score or by mean value, highest first. */
  by: 'outlier' | 'value';
}

export function useRanking({
  topic,
  groups,
  metric,
  topicSize,
  by,
}: RankingOptions): readonly ComparedObject[] {
  const axis = useTimeAxis();
  const source = useSeries({
    topic,
    series: metric ? comparisonSeries(groups, metric) : [],
    topicSize,
  });
  const [order, setOrder] = useState<readonly string[]>([]);
  const keys = groups.map(({ key }) => key).join();

  useEffect(() => {
    const rank = () => {
      const { from, to } = axis.window();
      const { rows } = source.read(
        axis.step?.() === 1 ? Math.max(from, to - RANKED_SECONDS) : from,
        to,
      );
      const series = keys
        .split(',')
        .map((uid, index) => ({ uid, values: rows[index] ?? new Float64Array() }));
      const next =
        by === 'value' ? rankByMean(series) : rankByOutlier(series).map(({ uid }) => uid);
      setOrder((now) => (isSameView(now, next, by) ? now : next));
      return rows.some((row) => row.some((value) => !Number.isNaN(value)));
    };
    let ranked = rank();
    const stops = [
      // The first samples of a topic arrive shortly after the subscription.
      source.subscribe(() => {
        if (!ranked) ranked = rank();
      }),
      axis.subscribe(() => {
        ranked = false;
      }),
    ];
    const timer = setInterval(rank, RANK_INTERVAL_MS);
    return () => {
      for (const stop of stops) stop();
      clearInterval(timer);
    };
  }, [source, axis, keys, by]);

  const position = new Map(order.map((key, index) => [key, index]));
  const last = order.length;
  return [...groups].sort((a, b) => (position.get(a.key) ?? last) - (position.get(b.key) ?? last));
}

/**
 * Whether a new order leaves the view unchanged. A chart of the highest values does not depend on
 * the order of its lines.
 */
function isSameView(
  now: readonly string[],
  next: readonly string[],
  by: RankingOptions['by'],
): boolean {
  if (by === 'outlier') return now.join() === next.join();
  const top = (order: readonly string[]) => order.slice(0, MAX_CHART_LINES).sort().join();
  return now.length === next.length && top(now) === top(next);
}
