import type { QueryClient } from '@tanstack/react-query';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { HistorySeries } from './historyCache';

const NOW = 1_700_000_000;
const REJECTED = 'unknown';

/** Return a query client for a console that rejects one metric. */
function clientRejecting(requests: string[], milliseconds = 0): QueryClient {
  const fetchQuery = async ({ queryKey }: { queryKey: readonly [string, string] }) => {
    const metrics = /metrics=([^&]*)/.exec(queryKey[1])?.[1]?.split(',') ?? [];
    requests.push(metrics.join());
    if (milliseconds) await new Promise((resolve) => setTimeout(resolve, milliseconds));
    if (metrics.includes(REJECTED)) throw new Error('no such metric');
    const series = { '1': metrics.map(() => [1, 2]) };
    return { resolution: '10sec', from: NOW, step: 10, count: 2, metrics, series };
  };
  const cancelQueries = async ({ queryKey }: { queryKey: readonly [string, string] }) => {
    requests.push(`cancelled ${queryKey[1].includes(REJECTED) ? REJECTED : 'a'}`);
  };
  return { fetchQuery, cancelQueries } as unknown as QueryClient;
}

describe('HistorySeries', () => {
  let requests: string[];
  let past: HistorySeries;

  beforeEach(() => {
    vi.useFakeTimers();
    requests = [];
    past = new HistorySeries(clientRejecting(requests), 'bdbs', ['1'], () => NOW + 3_600);
    past.ensureRange(NOW, NOW + 20, 10);
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('sends one request for all metrics', async () => {
    past.subscribe(['a'], () => undefined);
    past.subscribe(['b', 'a'], () => undefined);
    past.loadNewMetrics();
    await vi.runAllTimersAsync();
    expect(requests).toEqual(['a,b']);
    expect(past.columns?.count).toBe(2);
  });

  it('sends the request again without the rejected metric', async () => {
    past.subscribe(['a'], () => undefined);
    const stop = past.subscribe([REJECTED], () => undefined);
    past.loadNewMetrics();
    await vi.advanceTimersByTimeAsync(0);
    expect(past.reason).toContain('no such metric');
    stop();
    await vi.runAllTimersAsync();
    expect(requests).toEqual([`a,${REJECTED}`, 'a']);
    expect(past.reason).toBeUndefined();
  });

  it('retries failed requests while there are subscribers', async () => {
    const stop = past.subscribe([REJECTED], () => undefined);
    past.loadNewMetrics();
    await vi.advanceTimersByTimeAsync(11_000);
    expect(requests).toEqual([REJECTED, REJECTED, REJECTED]);
    stop();
    await vi.runAllTimersAsync();
    expect(requests).toHaveLength(3);
  });

  it('cancels the request without subscribers, and sends it again for new ones', async () => {
    const stop = past.subscribe(['a'], () => undefined);
    past.loadNewMetrics();
    vi.advanceTimersByTime(0);
    stop();
    await vi.runAllTimersAsync();
    expect(requests).toEqual(['a', 'cancelled a']);
    expect(past.columns, 'cancelled requests return no data').toBeNull();
    past.subscribe(['a'], () => undefined);
    past.loadNewMetrics();
    past.ensureRange(NOW, NOW + 20, 10);
    await vi.runAllTimersAsync();
    expect(requests).toEqual(['a', 'cancelled a', 'a']);
    expect(past.columns?.count).toBe(2);
  });

  it('sends a scheduled request after a subscriber was replaced', async () => {
    past.subscribe(['a'], () => undefined)();
    past.subscribe(['a'], () => undefined);
    past.ensureRange(NOW, NOW + 20, 10);
    await vi.runAllTimersAsync();
    expect(requests).toEqual(['a']);
  });

  it('replaces a running request if a metric is added', async () => {
    past = new HistorySeries(clientRejecting(requests, 10), 'bdbs', ['1'], () => NOW + 3_600);
    past.ensureRange(NOW, NOW + 20, 10);
    past.subscribe(['a'], () => undefined);
    past.loadNewMetrics();
    vi.advanceTimersByTime(0);
    past.subscribe(['b'], () => undefined);
    past.loadNewMetrics();
    await vi.runAllTimersAsync();
    expect(requests).toEqual(['a', 'cancelled a', 'a,b']);
    expect([...(past.columns?.series.get('1')?.keys() ?? [])]).toEqual(['a', 'b']);
  });

  it('sends the request again if the metrics changed before the rejection arrived', async () => {
    past.subscribe(['a'], () => undefined);
    const stop = past.subscribe([REJECTED], () => undefined);
    past.loadNewMetrics();
    vi.advanceTimersByTime(0);
    stop();
    await vi.runAllTimersAsync();
    expect(requests).toEqual([`a,${REJECTED}`, 'a']);
  });
});
