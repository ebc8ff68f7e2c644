import { describe, expect, it, vi } from 'vitest';
import type { BenchmarkPart } from '@/api/types';
import { errorMetric, RunSeries } from './runSeries';

const part = (first: number, ops: (number | null)[], p99: (number | null)[]): BenchmarkPart => ({
  phase: 0,
  phase_name: 'load',
  repetition: 0,
  began_at: 1_000,
  first,
  at: ops.map((_, index) => 1_001 + first + index),
  columns: { ops, p99_ms: p99 },
  errors: {},
  histograms: null,
});

describe('RunSeries', () => {
  it('places seconds at their start and leaves gaps', () => {
    const series = new RunSeries();
    series.add([part(0, [10, null, 30], [1, null, 3])]);
    const { from, step, rows } = series.source(['ops']).read(999, 1_004);
    expect([from, step]).toEqual([999, 1]);
    expect([...(rows[0] ?? [])]).toEqual([Number.NaN, 10, Number.NaN, 30, Number.NaN]);
    expect(series.span()).toEqual({ from: 1_000, to: 1_003 });
  });

  it('replaces a second that is reported again and notifies subscribers', () => {
    const series = new RunSeries();
    const listener = vi.fn();
    const source = series.source(['ops']);
    const stop = source.subscribe(listener);
    series.add([part(0, [10, 5], [1, 1])]);
    series.add([part(1, [20], [1])]);
    expect([...(source.read(1_000, 1_002).rows[0] ?? [])]).toEqual([10, 20]);
    expect(listener).toHaveBeenCalledTimes(2);
    stop();
    series.add([part(2, [20], [1])]);
    expect(listener).toHaveBeenCalledTimes(2);
  });

  it('averages rates and keeps the worst percentile if a point covers several seconds', () => {
    const series = new RunSeries();
    series.add([part(0, [10, 20], [1, 9])]);
    const { step, rows } = series.source(['ops', 'p99_ms']).read(1_000, 3_000);
    expect(step).toBe(2);
    expect(rows.map((row) => row[0])).toEqual([15, 9]);
  });

  it('has no span without data', () => {
    expect(new RunSeries().span()).toBeUndefined();
  });

  it('converts histograms to a heat map and returns the reason while there are none', () => {
    const series = new RunSeries();
    const heat = series.heatSource('Nothing yet.', () => 'GET');
    expect(heat.reason()).toBe('Nothing yet.');
    series.add([
      { ...part(0, [3, null, 2], [1, null, 1]), histograms: [{ '100': 3 }, {}, { '113': 2 }] },
    ]);
    expect(heat.reason()).toBeUndefined();
    const { from, step, columns } = heat.read(999, 1_003);
    expect([from, step]).toEqual([999, 1]);
    expect(columns).toEqual([
      undefined,
      { seconds: 1, row: 40, counts: [3] },
      { seconds: 1, row: 0, counts: [] },
      { seconds: 1, row: 41, counts: [2] },
      undefined,
    ]);
  });

  it('merges seconds of a long run', () => {
    const series = new RunSeries();
    const hour = 3_600;
    series.add([
      {
        ...part(0, Array(hour).fill(1), Array(hour).fill(1)),
        histograms: Array.from({ length: hour }, () => ({ '100': 2 })),
      },
    ]);
    const { step, columns } = series.heatSource('', () => '').read(1_000, 1_000 + hour);
    expect(step).toBe(13);
    expect(columns.length).toBeLessThan(300);
    expect(columns[1]).toEqual({ seconds: 13, row: 40, counts: [26] });
  });

  it('separates errors by type', () => {
    const series = new RunSeries();
    series.add([{ ...part(0, [1, 1], [1, 1]), errors: { CLUSTERDOWN: [0, 5], timeout: [0, 0] } }]);
    expect(series.errorKinds()).toEqual(['CLUSTERDOWN']);
    const { rows } = series.source([errorMetric('CLUSTERDOWN')]).read(1_000, 1_002);
    expect([...(rows[0] ?? [])]).toEqual([0, 5]);
  });
});
