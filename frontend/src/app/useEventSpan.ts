/** Time span of the event pages: the time range in the header, or all events. While the page is paused, no later events are included. */
import { useSearch } from '@tanstack/react-router';
import { useSyncExternalStore } from 'react';
import { useCoarseWindow } from '@/live/useCoarseWindow';
import { useZone } from '@/ui/useZone';
import { usePageAxis } from './layout/PageAxis';
import { formatWindow, rangeLabel } from './ranges';
import { DEFAULT_RANGE } from './search';

export interface EventSpan {
  chosen: 'range' | 'all';
  /** Label of the time range. */
  label: string;
  stime: string | undefined;
  etime: string | undefined;
}

const iso = (second: number): string => new Date(second * 1000).toISOString();

export function useEventSpan(chosen: 'range' | 'all' = 'range'): EventSpan {
  const { range = DEFAULT_RANGE, from, to } = useSearch({ strict: false });
  const axis = usePageAxis();
  // Render again when the page is paused or continues.
  useSyncExternalStore(axis.live.subscribe, axis.live.get);
  const window = useCoarseWindow();
  const zone = useZone();
  const isZoomed = from !== undefined && to !== undefined;
  const label = isZoomed ? formatWindow(from, to, zone) : `Last ${rangeLabel(range)}`;
  if (chosen === 'all') return { chosen, label, stime: undefined, etime: undefined };
  // A live range also includes later events.
  const until = isZoomed ? to : axis.eventsUntil();
  return {
    chosen,
    label,
    stime: iso(isZoomed ? from : window.from),
    etime: until === undefined ? undefined : iso(until),
  };
}
