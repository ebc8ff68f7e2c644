/** Seconds of the window without samples. Renders only when they change. */
import { useCallback, useEffect, useState } from 'react';
import { lostSince } from '@/lib/connection';
import { useLive, useTick } from '@/live/LiveProvider';
import { useSeries } from '@/live/useSeries';
import { useTimeAxis } from '@/ui/chart/TimeAxisContext';
import type { TimelineFilter } from './filter';
import { type Gap, gapsOf } from './lanes/gaps';

const NONE: readonly Gap[] = [];

/** Return the gaps of the charts that the filter selects. */
export function useGaps({ bdb, node }: Pick<TimelineFilter, 'bdb' | 'node'>): readonly Gap[] {
  const live = useLive();
  const axis = useTimeAxis();
  const [topic, uid] =
    bdb !== undefined
      ? ['bdbs', String(bdb)]
      : node !== undefined
        ? ['nodes', String(node)]
        : ['cluster', 'cluster'];
  const source = useSeries({ topic, series: [{ uids: [uid], metric: 'total_req' }] });
  const [gaps, setGaps] = useState(NONE);
  const update = useCallback(() => {
    // While the data is loading or the connection is lost, it is unknown whether samples exist.
    if (source.pending?.() || lostSince.get() !== null) return;
    const { from, to } = axis.window();
    const found = gapsOf(source.read(from, to), live.edge());
    setGaps((now) => (JSON.stringify(now) === JSON.stringify(found) ? now : found));
  }, [source, axis, live]);
  useTick(update);
  useEffect(() => source.subscribe(update), [source, update]);
  return gaps;
}
