/** API of the event log, newest first: the latest events, which the stream updates, and filtered pages of all events. */
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { request } from '../http';
import type { LogEvent } from '../types';

export const EVENT_PAGE = 200;

export interface EventFilter {
  severity?: string | undefined;
  source?: string | undefined;
  text?: string | undefined;
  bdb_uid?: number | undefined;
  /** ISO 8601; `stime` is inclusive, `etime` is exclusive. */
  stime?: string | undefined;
  etime?: string | undefined;
}

const page = (filter: EventFilter, offset: number, signal?: AbortSignal, limit = EVENT_PAGE) => {
  const query = new URLSearchParams({
    order: 'desc',
    limit: String(limit),
    offset: String(offset),
  });
  for (const [name, value] of Object.entries(filter)) {
    if (value !== undefined && value !== '') query.set(name, String(value));
  }
  return request<LogEvent[]>('GET', `/v1/logs?${query}`, undefined, signal);
};

/** The newest events. The stream adds later ones. */
export const eventsQuery = queryOptions({
  queryKey: ['events'],
  queryFn: () => page({}, 0),
  // Never evicted, like all lists that the stream updates.
  gcTime: Number.POSITIVE_INFINITY,
});

/** Query for the newest events that contain a text. */
export const eventSearchQuery = (text: string, limit: number) =>
  queryOptions({
    queryKey: ['log', 'mentions', text, limit],
    queryFn: ({ signal }) => page({ text }, 0, signal, limit),
    staleTime: 0,
  });

/** Pages of the complete log. Events that occur while it is displayed come from `eventsQuery`. */
export const eventLogQuery = (filter: EventFilter) =>
  infiniteQueryOptions({
    queryKey: ['log', filter],
    queryFn: ({ pageParam, signal }) => page(filter, pageParam, signal),
    initialPageParam: 0,
    getNextPageParam: (last, pages) =>
      last.length < EVENT_PAGE ? undefined : pages.reduce((sum, { length }) => sum + length, 0),
    staleTime: 0,
  });

/** Merge lists of events without duplicates, newest first. */
export function mergeEvents(...lists: readonly (readonly LogEvent[])[]): LogEvent[] {
  const byUid = new Map(lists.flat().map((event) => [event.uid, event]));
  return [...byUid.values()].sort((a, b) => b.time_ms - a.time_ms || b.uid - a.uid);
}
