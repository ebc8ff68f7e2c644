/** Return a source for charts and sparklines. It keeps its identity while the series stay the same. */
import { useMemo } from 'react';
import { useTimeAxis } from '@/ui/chart/TimeAxisContext';
import type { ChartSource } from '@/ui/chart/types';
import { useLive } from './LiveProvider';
import { type SeriesRequest, seriesSource } from './series/seriesSource';

export function useSeries(spec: SeriesRequest): ChartSource {
  const live = useLive();
  const axis = useTimeAxis();
  const key = JSON.stringify(spec);
  return useMemo(() => seriesSource(live, axis, JSON.parse(key)), [live, axis, key]);
}
