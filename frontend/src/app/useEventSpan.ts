/** Time span of the event pages: the time range in the header if one is selected, otherwise all events. */
import { useSearch } from '@tanstack/react-router';
import { useCoarseWindow } from '@/live/useCoarseWindow';
import { useZone } from '@/ui/useZone';
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

export function useEventSpan(span: 'range' | 'all' | undefined): EventSpan {
  const { range = DEFAULT_RANGE, from, to } = useSearch({ strict: false });
  const window = useCoarseWindow();
  const zone = useZone();
  const fixed = from !== undefined && to !== undefined;
  const chosen = span ?? (fixed || range !== DEFAULT_RANGE ? 'range' : 'all');
  return {
    chosen,
    label: fixed ? formatWindow(from, to, zone) : `Last ${rangeLabel(range)}`,
    stime: chosen === 'range' ? iso(fixed ? from : window.from) : undefined,
    // A live range also includes later events.
    etime: chosen === 'range' && fixed ? iso(to) : undefined,
  };
}
