/** Reads a ring the way a chart wants it. */
import type { ChartSource } from '@/ui/chart/types';
import type { Live } from './live';

export interface SeriesRef {
  uid: string;
  metric: string;
}

export function ringSource(live: Live, topic: string, series: readonly SeriesRef[]): ChartSource {
  return {
    read: (from, to) => {
      const ring = live.ring(topic);
      const rows = series.map(({ uid, metric }) => ring.read(uid, metric, from, to));
      return { from, step: 1, rows };
    },
    subscribe: (listener) => live.onTick(listener),
  };
}
