/** The log, newest first. New events are folded in by the stream, older ones loaded on demand. */
import { type QueryClient, queryOptions } from '@tanstack/react-query';
import { request } from './http';
import type { LogEvent } from './types';

export const EVENT_PAGE = 200;

const page = (offset: number) =>
  request<LogEvent[]>('GET', `/v1/logs?order=desc&limit=${EVENT_PAGE}&offset=${offset}`);

/** Newest first, each event once. */
export function mergeEvents(known: readonly LogEvent[], more: readonly LogEvent[]): LogEvent[] {
  const byUid = new Map(known.map((event) => [event.uid, event]));
  for (const event of more) byUid.set(event.uid, event);
  return [...byUid.values()].sort((a, b) => b.uid - a.uid);
}

const queryKey = ['events'] as const;

export const eventsQuery = queryOptions({
  queryKey,
  queryFn: async ({ client }) => {
    const fresh = await page(0);
    const known = client.getQueryData<LogEvent[]>(queryKey) ?? [];
    const overlaps = known.some((event) => event.uid === fresh.at(-1)?.uid);
    // Without overlap there is a hole between the two lists: start over from the newest.
    return overlaps ? mergeEvents(known, fresh) : fresh;
  },
});

/** Appends one page of older events to the cached list; tells whether there were any. */
export async function loadOlderEvents(client: QueryClient): Promise<boolean> {
  const known = client.getQueryData<LogEvent[]>(queryKey) ?? [];
  const older = await page(known.length);
  client.setQueryData<LogEvent[]>(queryKey, (list = []) => mergeEvents(list, older));
  return older.length === EVENT_PAGE;
}
