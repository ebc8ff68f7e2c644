// @dom
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { act, render, screen } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { nodesQuery } from '@/api/cluster/nodes';
import { lostSince } from '@/lib/connection';
import { Figure } from './Figure';
import { LiveProvider, useLive } from './LiveProvider';
import type { Live } from './live';
import { IDLE_TIMEOUT_MS } from './stream/stream';

class FakeSource {
  static newest: FakeSource;
  onerror: (() => void) | null = null;
  readonly listeners = new Map<string, (event: unknown) => void>();
  constructor() {
    FakeSource.newest = this;
  }
  addEventListener(name: string, listener: (event: unknown) => void): void {
    this.listeners.set(name, listener);
  }
  close(): void {}
  emit(name: string, data: unknown): void {
    this.listeners.get(name)?.({ data: JSON.stringify(data), lastEventId: '' });
  }
}

const METRICS = { cluster: ['total_req', 'p99_latency'], nodes: ['free_memory'] };
let live: Live;

function Probe() {
  live = useLive();
  return null;
}

const pass = (ms: number) => act(() => vi.advanceTimersByTime(ms));

/** Send the current second of the cluster and of some nodes. */
function sample(values: (number | null)[], nodes: readonly number[] = [1, 2]) {
  const at = Date.now();
  const t = Math.floor(at / 1000);
  const series = Object.fromEntries(nodes.map((uid) => [uid, [1]]));
  FakeSource.newest.emit('sample', { topic: 'nodes', t, at, series });
  FakeSource.newest.emit('sample', { topic: 'cluster', t, at, series: { cluster: values } });
  pass(20);
}

const value = () => screen.getByText(/ops|–/);
const shown = () => {
  const element = value();
  const note = element.nextElementSibling?.textContent;
  return { text: element.textContent, note, state: element.dataset.state };
};

beforeEach(() => {
  vi.useFakeTimers({ now: 1_700_000_000_000 });
  vi.stubGlobal('EventSource', FakeSource);
  vi.stubGlobal('fetch', () => new Promise(() => undefined));
  const client = new QueryClient();
  client.setQueryData<unknown>(nodesQuery.queryKey, [
    { uid: 1, status: 'active' },
    { uid: 2, status: 'active' },
  ]);
  render(
    <QueryClientProvider client={client}>
      <LiveProvider>
        <Probe />
        <Figure topic="cluster" uid="cluster" metric="total_req" unit="ops" />
      </LiveProvider>
    </QueryClientProvider>,
  );
  pass(50);
  FakeSource.newest.emit('hello', { server_time: Date.now() });
  for (const [topic, metrics] of Object.entries(METRICS)) {
    FakeSource.newest.emit('history', { topic, metrics, from: 0, count: 0, series: {} });
  }
});
afterEach(() => {
  lostSince.set(null);
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

describe('Figure', () => {
  it('shows a current value, and its age when the samples are late', () => {
    expect(shown()).toMatchObject({ text: '–', state: 'unknown' });
    sample([12, null]);
    expect(shown()).toEqual({ text: '12\u00a0ops/s', note: '', state: 'fresh' });
    pass(6_000);
    expect(shown()).toMatchObject({ text: '12\u00a0ops/s', state: 'late' });
    expect(shown().note).toMatch(/^[56]\u00a0s ago$/);
    expect(live.freshness.get()).toBe('late');
  });

  it('shows how many nodes report while totals are incomplete, and the indicator is not fresh', () => {
    sample([12, null]);
    for (let second = 0; second < 6; second += 1) {
      pass(980);
      sample([null, null], [1]);
    }
    expect(shown()).toEqual({ text: '12\u00a0ops/s', note: '1 of 2 nodes', state: 'partial' });
    expect(live.freshness.get()).toBe('partial');
    pass(980);
    sample([0, null]);
    expect(shown()).toMatchObject({ text: '0\u00a0ops/s', state: 'fresh' });
    expect(live.freshness.get()).toBe('fresh');
  });

  it('shows that it is stale while the console is frozen', () => {
    sample([12, null]);
    pass(2 * IDLE_TIMEOUT_MS + 2_000);
    expect(shown()).toMatchObject({ text: '12\u00a0ops/s', state: 'stale' });
    expect(value().title).toMatch(/Disconnected for \d+/);
    FakeSource.newest.emit('hello', { server_time: Date.now() });
    sample([7, null]);
    expect(shown()).toEqual({ text: '7\u00a0ops/s', note: '', state: 'fresh' });
  });
});
