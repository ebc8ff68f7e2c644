/** Time span of the event pages: the time range in the header if one is selected, otherwise all events. */
import { useSearch } from '@tanstack/react-router';
import { useWindow } from '@/live/useWindow';
import { useZone } from '@/ui/zone';
import { rangeWord, windowWord } from './ranges';
import { DEFAULT_RANGE } from './search';

export interface EventSpan {
  chosen: 'range' | 'all';
  /** Label of the time range. */
  word: string;
  stime: string | undefined;
  etime: string | undefined;
}

const iso = (second: number): string => new Date(second * 1000).toISOString();

export function useEventSpan(span: 'range' | 'all' | undefined): EventSpan {
  const { range = DEFAULT_RANGE, from, to } = useSearch({ strict: false });
  const window = useWindow();
  const zone = useZone();
  const fixed = from !== undefined && to !== undefined;
  const chosen = span ?? (fixed || range !== DEFAULT_RANGE ? 'range' : 'all');
  return {
    chosen,
    word: fixed ? windowWord(from, to, zone) : `Last ${rangeWord(range)}`,
    stime: chosen === 'range' ? iso(fixed ? from : window.from) : undefined,
    // A live range also includes later events.
    etime: chosen === 'range' && fixed ? iso(to) : undefined,
  };
}
