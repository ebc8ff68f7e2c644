/** Which part of the log the pages of events show: that of the header's time range when one is chosen, else all. */
import { useSearch } from '@tanstack/react-router';
import { useWindow } from '@/live/useWindow';
import { useZone } from '@/ui/zone';
import { rangeWord, windowWord } from './ranges';
import { DEFAULT_RANGE } from './search';

export interface EventSpan {
  chosen: 'range' | 'all';
  /** What the range is called. */
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
    // What happens from now on belongs to a range that follows time.
    etime: chosen === 'range' && fixed ? iso(to) : undefined,
  };
}
