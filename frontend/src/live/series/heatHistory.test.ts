import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { LatencyHistory } from '@/api/metrics/history';
import {
  appendHeatColumns,
  HeatHistory,
  type HeatRequest,
  readIntervalMs,
  toHeatColumns,
} from './heatHistory';

const NOW = 1_700_000_000;

/**
 * Return columns of `step` seconds with `requests` requests of 100 µs each. `silent`: columns
 * without data.
 */
function reply(
  { from, to, step = 1, perDecade = 20 }: HeatRequest,
  requests = 1,
  silent: number[] = [],
): LatencyHistory {
  const count = Math.ceil((to - from) / step);
  const at = Array.from({ length: count }, (_, index) => from + index * step);
  return {
    resolution: '1sec',
    from,
    step,
    count,
    kind: 'all',
    per_decade: perDecade,
    lowest: 40,
    bounds: [100, 112.2],
    seconds: at.map((second) => (silent.includes(second) ? 0 : step)),
    columns: at.map((second) => (silent.includes(second) ? [] : [0, requests])),
  };
}

describe('toHeatColumns', () => {
  it('numbers rows independently of the lowest row of a reply', () => {
    const columns = toHeatColumns({
      ...reply({ from: 100, to: 102 }),
      columns: [[3, 7, 8], []],
      seconds: [1, 0],
    });
    expect(columns.get(100)).toEqual({ seconds: 1, row: 43, counts: [7, 8] });
    expect(columns.get(101)).toEqual({ seconds: 0, row: 40, counts: [] });
  });
});

describe('appendHeatColumns', () => {
  it('prefers newer columns and removes columns before the window', () => {
    const older = toHeatColumns(reply({ from: 100, to: 104 }, 1));
    const newer = toHeatColumns(reply({ from: 103, to: 106 }, 2));
    const found = appendHeatColumns(older, newer, 102);
    expect([...found].map(([at, { counts }]) => [at, counts[0]])).toEqual([
      [102, 1],
      [103, 2],
      [104, 2],
      [105, 2],
    ]);
  });
});

describe('readIntervalMs', () => {
  it('depends on the width of a column, within limits', () => {
    expect([1, 3, 20, 300].map(readIntervalMs)).toEqual([2_000, 2_000, 10_000, 30_000]);
  });
});

describe('HeatHistory', () => {
  let now: number;
  let requests: HeatRequest[];
  let respond: (request: HeatRequest) => LatencyHistory;
  let history: HeatHistory;
  const flushPromises = () => Promise.resolve().then(() => Promise.resolve());
  const ensureRange = async (from: number, to: number) => {
    history.ensureRange({ from, to });
    await flushPromises();
  };
  const advance = async (seconds: number) => {
    now += seconds;
    await ensureRange(now - 60, now);
  };

  beforeEach(() => {
    now = NOW;
    requests = [];
    respond = (request) => reply(request);
    history = new HeatHistory(
      async (request) => {
        requests.push(request);
        return respond(request);
      },
      () => now * 1_000,
      () => undefined,
    );
  });

  it('reads the window once, and then only columns that may have changed, with the same grid', async () => {
    await ensureRange(NOW - 60, NOW);
    await ensureRange(NOW - 60, NOW);
    expect(requests).toEqual([{ from: NOW - 60, to: NOW }]);
    await advance(1);
    expect(requests.length, 'no request every second').toBe(1);
    await advance(1);
    expect(requests[1]).toEqual({ from: NOW - 6, to: NOW + 2, step: 1, perDecade: 20 });
    const { columns } = history.read(NOW - 58, NOW + 2);
    expect(columns.length).toBe(60);
    expect(columns.every((column) => column?.counts[0] === 1)).toBe(true);
  });

  it('cancels the request without subscribers, and sends it again later', async () => {
    const signals: AbortSignal[] = [];
    const cancelled = new HeatHistory(
      (request, signal) => {
        signals.push(signal);
        return Promise.resolve(reply(request));
      },
      () => now * 1_000,
      () => undefined,
    );
    cancelled.ensureRange({ from: NOW - 60, to: NOW });
    cancelled.cancel();
    await Promise.resolve();
    expect(signals[0]?.aborted).toBe(true);
    expect(cancelled.pending, 'cancelled requests return no data').toBe(true);
    cancelled.ensureRange({ from: NOW - 60, to: NOW });
    await vi.waitFor(() => expect(cancelled.pending).toBe(false));
  });

  it('reads the entire window after a change of its length, an earlier start, or a long pause', async () => {
    await ensureRange(NOW - 60, NOW);
    await ensureRange(NOW - 300, NOW);
    await ensureRange(NOW - 400, NOW - 100);
    now += 3_600;
    await ensureRange(now - 300, now);
    expect(requests.map(({ step }) => step)).toEqual([undefined, undefined, undefined, undefined]);
  });

  it('does not read past windows again', async () => {
    await ensureRange(NOW - 600, NOW - 300);
    now += 60;
    await ensureRange(NOW - 600, NOW - 300);
    expect(requests.length).toBe(1);
  });

  it('does not report a gap while data may still arrive', async () => {
    respond = (request) => reply(request, 1, [NOW - 20, NOW - 2, NOW - 1]);
    await ensureRange(NOW - 60, NOW);
    const { columns } = history.read(NOW - 60, NOW);
    expect(columns[40]?.seconds).toBe(0);
    expect(columns.slice(58)).toEqual([undefined, undefined]);
  });

  it('returns the error, retries after a pause, and keeps existing data', async () => {
    const succeeding = respond;
    respond = () => {
      throw new Error('no');
    };
    expect(history.pending).toBe(true);
    await ensureRange(NOW - 60, NOW);
    expect(history.pending).toBe(false);
    expect(history.reason).toBe('The stored history could not be loaded: no');
    await advance(1);
    expect(requests.length).toBe(1);
    respond = succeeding;
    await advance(5);
    expect(history.reason).toBeUndefined();
    respond = () => {
      throw new Error('no');
    };
    await advance(2);
    expect(history.reason).toBeUndefined();
    expect(history.read(now - 60, now - 5).columns[0]?.counts).toEqual([1]);
  });
});
