import type { QueryClient } from '@tanstack/react-query';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { PastSeries } from './past';

const NOW = 1_700_000_000;
const REFUSED = 'unknown';

/** A console that refuses one metric. */
function refusing(asked: string[], milliseconds = 0): QueryClient {
  const fetchQuery = async ({ queryKey }: { queryKey: readonly [string, string] }) => {
    const metrics = /metrics=([^&]*)/.exec(queryKey[1])?.[1]?.split(',') ?? [];
    asked.push(metrics.join());
    if (milliseconds) await new Promise((resolve) => setTimeout(resolve, milliseconds));
    if (metrics.includes(REFUSED)) throw new Error('no such metric');
    const series = { '1': metrics.map(() => [1, 2]) };
    return { resolution: '10sec', from: NOW, step: 10, count: 2, metrics, series };
  };
  const cancelQueries = async ({ queryKey }: { queryKey: readonly [string, string] }) => {
    asked.push(`cancelled ${queryKey[1].includes(REFUSED) ? REFUSED : 'a'}`);
  };
  return { fetchQuery, cancelQueries } as unknown as QueryClient;
}

describe('PastSeries', () => {
  let asked: string[];
  let past: PastSeries;

  beforeEach(() => {
    vi.useFakeTimers();
    asked = [];
    past = new PastSeries(refusing(asked), 'bdbs', ['1'], () => NOW + 3_600);
    past.want(NOW, NOW + 20, 10);
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('asks once for all that is wanted', async () => {
    past.subscribe(['a'], () => undefined);
    past.subscribe(['b', 'a'], () => undefined);
    past.add();
    await vi.runAllTimersAsync();
    expect(asked).toEqual(['a,b']);
    expect(past.columns?.count).toBe(2);
  });

  it('asks again when what was refused is no longer wanted', async () => {
    past.subscribe(['a'], () => undefined);
    const stop = past.subscribe([REFUSED], () => undefined);
    past.add();
    await vi.advanceTimersByTimeAsync(0);
    expect(past.reason).toContain('no such metric');
    stop();
    await vi.runAllTimersAsync();
    expect(asked).toEqual([`a,${REFUSED}`, 'a']);
    expect(past.reason).toBeUndefined();
  });

  it('asks again for what failed, for as long as somebody looks', async () => {
    const stop = past.subscribe([REFUSED], () => undefined);
    past.add();
    await vi.advanceTimersByTimeAsync(11_000);
    expect(asked).toEqual([REFUSED, REFUSED, REFUSED]);
    stop();
    await vi.runAllTimersAsync();
    expect(asked).toHaveLength(3);
  });

  it('ends the request when nobody looks any more, and asks anew for who comes back', async () => {
    const stop = past.subscribe(['a'], () => undefined);
    past.add();
    vi.advanceTimersByTime(0);
    stop();
    await vi.runAllTimersAsync();
    expect(asked).toEqual(['a', 'cancelled a']);
    expect(past.columns, 'what was cancelled is not read').toBeNull();
    past.subscribe(['a'], () => undefined);
    past.add();
    past.want(NOW, NOW + 20, 10);
    await vi.runAllTimersAsync();
    expect(asked).toEqual(['a', 'cancelled a', 'a']);
    expect(past.columns?.count).toBe(2);
  });

  it('asks for what it was about to ask before everybody left', async () => {
    past.subscribe(['a'], () => undefined)();
    past.subscribe(['a'], () => undefined);
    past.want(NOW, NOW + 20, 10);
    await vi.runAllTimersAsync();
    expect(asked).toEqual(['a']);
  });

  it('replaces a request by one that has a metric more', async () => {
    past = new PastSeries(refusing(asked, 10), 'bdbs', ['1'], () => NOW + 3_600);
    past.want(NOW, NOW + 20, 10);
    past.subscribe(['a'], () => undefined);
    past.add();
    vi.advanceTimersByTime(0);
    past.subscribe(['b'], () => undefined);
    past.add();
    await vi.runAllTimersAsync();
    expect(asked).toEqual(['a', 'cancelled a', 'a,b']);
    expect([...(past.columns?.series.get('1')?.keys() ?? [])]).toEqual(['a', 'b']);
  });

  it('asks again when that changed before the refusal came', async () => {
    past.subscribe(['a'], () => undefined);
    const stop = past.subscribe([REFUSED], () => undefined);
    past.add();
    vi.advanceTimersByTime(0);
    stop();
    await vi.runAllTimersAsync();
    expect(asked).toEqual([`a,${REFUSED}`, 'a']);
  });
});
