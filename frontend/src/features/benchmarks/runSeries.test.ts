import { describe, expect, it, vi } from 'vitest';
import type { BenchmarkPart } from '@/api/types';
import { RunSeries } from './runSeries';

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
  it('puts seconds where they began, and leaves gaps', () => {
    const series = new RunSeries();
    series.add([part(0, [10, null, 30], [1, null, 3])]);
    const { from, step, rows } = series.source(['ops']).read(999, 1_004);
    expect([from, step]).toEqual([999, 1]);
    expect([...(rows[0] ?? [])]).toEqual([Number.NaN, 10, Number.NaN, 30, Number.NaN]);
    expect(series.span()).toEqual({ from: 1_000, to: 1_003 });
  });

  it('replaces a second that is told again, and tells who draws', () => {
    const series = new RunSeries();
    const told = vi.fn();
    const source = series.source(['ops']);
    const stop = source.subscribe(told);
    series.add([part(0, [10, 5], [1, 1])]);
    series.add([part(1, [20], [1])]);
    expect([...(source.read(1_000, 1_002).rows[0] ?? [])]).toEqual([10, 20]);
    expect(told).toHaveBeenCalledTimes(2);
    stop();
    series.add([part(2, [20], [1])]);
    expect(told).toHaveBeenCalledTimes(2);
  });

  it('averages rates and keeps the worst percentile where seconds share a point', () => {
    const series = new RunSeries();
    series.add([part(0, [10, 20], [1, 9])]);
    const { step, rows } = series.source(['ops', 'p99_ms']).read(1_000, 3_000);
    expect(step).toBe(2);
    expect(rows.map((row) => row[0])).toEqual([15, 9]);
  });

  it('knows nothing at first', () => {
    expect(new RunSeries().span()).toBeUndefined();
  });
});
