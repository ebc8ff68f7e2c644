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
  let history: HistorySeries;

  beforeEach(() => {
    vi.useFakeTimers();
    requests = [];
    history = new HistorySeries(clientRejecting(requests), 'bdbs', ['1'], () => NOW + 3_600);
    history.ensureRange(NOW, NOW + 20, 10);
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('sends one request for all metrics', async () => {
    history.subscribe(['a'], () => undefined);
    history.subscribe(['b', 'a'], () => undefined);
    history.loadNewMetrics();
    await vi.runAllTimersAsync();
    expect(requests).toEqual(['a,b']);
    expect(history.columns?.count).toBe(2);
  });

  it('sends the request again without the rejected metric', async () => {
    history.subscribe(['a'], () => undefined);
    const stop = history.subscribe([REJECTED], () => undefined);
    history.loadNewMetrics();
    await vi.advanceTimersByTimeAsync(0);
    expect(history.reason).toContain('no such metric');
    stop();
    await vi.runAllTimersAsync();
    expect(requests).toEqual([`a,${REJECTED}`, 'a']);
    expect(history.reason).toBeUndefined();
  });

  it('retries failed requests while there are subscribers', async () => {
    const stop = history.subscribe([REJECTED], () => undefined);
    history.loadNewMetrics();
    await vi.advanceTimersByTimeAsync(11_000);
    expect(requests).toEqual([REJECTED, REJECTED, REJECTED]);
    stop();
    await vi.runAllTimersAsync();
    expect(requests).toHaveLength(3);
  });

  it('cancels the request without subscribers, and sends it again for new ones', async () => {
    const stop = history.subscribe(['a'], () => undefined);
    history.loadNewMetrics();
    vi.advanceTimersByTime(0);
    stop();
    await vi.runAllTimersAsync();
    expect(requests).toEqual(['a', 'cancelled a']);
    expect(history.columns, 'cancelled requests return no data').toBeNull();
    history.subscribe(['a'], () => undefined);
    history.loadNewMetrics();
    history.ensureRange(NOW, NOW + 20, 10);
    await vi.runAllTimersAsync();
    expect(requests).toEqual(['a', 'cancelled a', 'a']);
    expect(history.columns?.count).toBe(2);
  });

  it('sends a scheduled request after a subscriber was replaced', async () => {
    history.subscribe(['a'], () => undefined)();
    history.subscribe(['a'], () => undefined);
    history.ensureRange(NOW, NOW + 20, 10);
    await vi.runAllTimersAsync();
    expect(requests).toEqual(['a']);
  });

  it('replaces a running request if a metric is added', async () => {
    history = new HistorySeries(clientRejecting(requests, 10), 'bdbs', ['1'], () => NOW + 3_600);
    history.ensureRange(NOW, NOW + 20, 10);
    history.subscribe(['a'], () => undefined);
    history.loadNewMetrics();
    vi.advanceTimersByTime(0);
    history.subscribe(['b'], () => undefined);
    history.loadNewMetrics();
    await vi.runAllTimersAsync();
    expect(requests).toEqual(['a', 'cancelled a', 'a,b']);
    expect([...(history.columns?.series.get('1')?.keys() ?? [])]).toEqual(['a', 'b']);
  });

  it('sends the request again if the metrics changed before the rejection arrived', async () => {
    history.subscribe(['a'], () => undefined);
    const stop = history.subscribe([REJECTED], () => undefined);
    history.loadNewMetrics();
    vi.advanceTimersByTime(0);
    stop();
    await vi.runAllTimersAsync();
    expect(requests).toEqual([`a,${REJECTED}`, 'a']);
  });
});
