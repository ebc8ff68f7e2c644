/** A source for charts and sparklines that stays the same while what it shows does. */
import { useMemo } from 'react';
import { useTimeAxis } from '@/ui/chart/TimeAxisContext';
import type { ChartSource } from '@/ui/chart/types';
import { useLive } from './LiveProvider';
import { type SeriesWanted, seriesSource } from './series';

export function useSeries(wanted: SeriesWanted): ChartSource {
  const live = useLive();
  const axis = useTimeAxis();
  const key = JSON.stringify(wanted);
  return useMemo(() => seriesSource(live, axis, JSON.parse(key)), [live, axis, key]);
}
