/** The shards that stand out as lines; the mean of all others as one grey line. */
import { useMemo } from 'react';
import { useLive } from '@/live/LiveProvider';
import { Chart } from '@/ui/chart/Chart';
import { CYCLE } from '@/ui/chart/palette';
import type { ChartSpec } from '@/ui/chart/types';
import type { ShardMetric } from './dashboards';

const TOP = 7;

interface Props {
  topic: string;
  metric: ShardMetric;
  ranked: readonly string[];
}

export function TopShards({ topic, metric, ranked }: Props) {
  const live = useLive();
  const key = ranked.join();
  const spec = useMemo((): ChartSpec => {
    const uids = key.split(',').filter(Boolean);
    const top = uids.slice(0, TOP);
    const rest = uids.slice(TOP);
    const series = top.map((uid, index) => ({
      label: `redis:${uid}`,
      color: CYCLE[index] ?? CYCLE[0],
    }));
    if (rest.length) {
      series.push({ label: `mean of ${rest.length} others`, color: 'var(--series-slate)' });
    }
    return {
      title: metric.title,
      unit: metric.unit,
      kind: 'lines',
      series,
      source: {
        subscribe: (listener) => live.onTick(listener),
        read: (from, to) => {
          const ring = live.ring(topic);
          const lines = (list: string[]) =>
            list.map((uid) => ring.read(uid, metric.metric, from, to));
          const rows = rest.length ? [...lines(top), meanOf(lines(rest))] : lines(top);
          return { from, step: 1, rows };
        },
      },
      emptyReason: 'No shard has sent a sample in this time range.',
    };
  }, [live, topic, metric, key]);
  return <Chart spec={spec} height={340} />;
}

function meanOf(rows: readonly Float64Array[]): Float64Array {
  const result = new Float64Array(rows[0]?.length ?? 0);
  for (let t = 0; t < result.length; t += 1) {
    let sum = 0;
    let count = 0;
    for (const row of rows) {
      const value = row[t] ?? Number.NaN;
      if (Number.isNaN(value)) continue;
      sum += value;
      count += 1;
    }
    result[t] = count ? sum / count : Number.NaN;
  }
  return result;
}
