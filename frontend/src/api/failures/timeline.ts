/** API of the events that overlap an interval. */
import { queryOptions } from '@tanstack/react-query';
import { request } from '../http';
import type { LogEvent } from '../types';
import { startOf } from './eventSpans';

const GC_TIME_MS = 5 * 60_000;

const iso = (seconds: number): string => new Date(seconds * 1000).toISOString();

/** Instants in the interval and spans that overlap it, oldest first. Later events come from `eventsQuery`. */
export const timelineQuery = (from: number, to: number) =>
  queryOptions({
    queryKey: ['timeline', from, to],
    queryFn: ({ signal }) => {
      const query = new URLSearchParams({ from: iso(from), to: iso(to) });
      return request<LogEvent[]>('GET', `/v1/timeline?${query}`, undefined, signal);
    },
    gcTime: GC_TIME_MS,
  });

/** Merge lists of events without duplicates, oldest first. Later lists take precedence. */
export function chronological(...lists: readonly (readonly LogEvent[])[]): LogEvent[] {
  const byUid = new Map(lists.flat().map((event) => [event.uid, event]));
  return [...byUid.values()].sort((a, b) => startOf(a) - startOf(b) || a.uid - b.uid);
}
