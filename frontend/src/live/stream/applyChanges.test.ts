import { QueryClient, QueryObserver } from '@tanstack/react-query';
import { describe, expect, it, vi } from 'vitest';
import type { Bdb, LogEvent } from '@/api/types';
import { applyChanges } from './applyChanges';

const bdb = (uid: number, name: string) => ({ uid, name }) as Bdb;

describe('applyChanges', () => {
  it('applies changes to loaded lists and does not create other lists', () => {
    const client = new QueryClient();
    client.setQueryData(['bdbs'], [bdb(1, 'one')]);
    applyChanges(client, [
      { kind: 'bdb', uid: 2, object: bdb(2, 'two') },
      { kind: 'node', uid: 1, object: { uid: 1 } },
    ]);
    expect(client.getQueryData<Bdb[]>(['bdbs'])?.map(({ name }) => name)).toEqual(['one', 'two']);
    expect(client.getQueryData(['nodes'])).toBeUndefined();
  });

  it('applies changes that arrive during a request to its reply, without another request', async () => {
    const client = new QueryClient();
    client.setQueryData(['bdbs'], [bdb(1, 'old')]);
    let reply: (list: Bdb[]) => void = () => undefined;
    let requests = 0;
    const queryFn = () => {
      requests += 1;
      return new Promise<Bdb[]>((resolve) => {
        reply = resolve;
      });
    };
    const fetched = client.fetchQuery({ queryKey: ['bdbs'], queryFn });
    for (const name of ['changed', 'changed again']) {
      applyChanges(client, [{ kind: 'bdb', uid: 1, object: bdb(1, name) }]);
    }
    applyChanges(client, [{ kind: 'bdb', uid: 2, object: null }]);
    expect(client.getQueryData<Bdb[]>(['bdbs'])?.[0]?.name).toBe('changed again');
    reply([bdb(1, 'stale'), bdb(2, 'deleted during the request')]);
    await fetched;
    expect(client.getQueryData<Bdb[]>(['bdbs'])).toEqual([bdb(1, 'changed again')]);
    expect(requests).toBe(1);
  });

  it('keeps a limited number of events, and all open events', async () => {
    const client = new QueryClient();
    const event = (uid: number, open = false) =>
      ({ uid, time_ms: uid, open }) as unknown as LogEvent;
    client.setQueryData(['events'], [event(2, true), event(1)]);
    client.setQueryData(['timeline', 0, 300], []);
    const eventChanges = (from: number, to: number) =>
      Array.from({ length: to - from }, (_, at) => from + at).map((uid) => ({
        kind: 'event' as const,
        uid,
        object: event(uid),
      }));
    applyChanges(client, eventChanges(3, 1_500));
    expect(client.getQueryState(['timeline', 0, 300])?.isInvalidated).toBe(false);
    applyChanges(client, eventChanges(1_500, 2_100));
    await vi.waitFor(() => expect(client.getQueryData<LogEvent[]>(['events'])?.length).toBe(1_001));
    const events = client.getQueryData<LogEvent[]>(['events']) ?? [];
    expect(events[0]?.uid).toBe(2_099);
    expect(events.at(-1)).toEqual(event(2, true));
    expect(client.getQueryState(['timeline', 0, 300])?.isInvalidated).toBe(true);
  });

  it('refetches incidents after changes of events and outages, once for several changes', async () => {
    vi.useFakeTimers();
    const client = new QueryClient();
    let requests = 0;
    const queryFn = async () => {
      requests += 1;
      return [];
    };
    const observer = new QueryObserver(client, { queryKey: ['incidents', 'all'], queryFn });
    const stop = observer.subscribe(() => undefined);
    await vi.advanceTimersByTimeAsync(0);
    expect(requests).toBe(1);
    applyChanges(client, [{ kind: 'shard', uid: 1, object: {} }]);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(requests).toBe(1);
    applyChanges(client, [{ kind: 'outage', uid: 1, object: { uid: 1 } }]);
    applyChanges(client, [{ kind: 'event', uid: 7, object: { uid: 7 } }]);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(requests).toBe(2);
    stop();
    vi.useRealTimers();
  });

  it('ignores kinds that are not cached', () => {
    const client = new QueryClient();
    expect(() => applyChanges(client, [{ kind: 'cluster', uid: 1, object: {} }])).not.toThrow();
  });
});
