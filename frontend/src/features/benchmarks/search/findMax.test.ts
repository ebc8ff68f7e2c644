import { describe, expect, it } from 'vitest';
import type { Benchmark, FindMaxResult, SearchStep } from '@/api/types';
import { format } from '@/lib/format';
import { measuredResult } from '../runText';
import {
  axisTop,
  latencyAt,
  nearestRate,
  rateCurve,
  searchOf,
  stepOf,
  stepResult,
  stepText,
} from './findMax';

const STEP: SearchStep = {
  purpose: 'search',
  rate: 7_000,
  ops_per_second: 7_000,
  average_ms: 0.5,
  p99_ms: 0.9,
  met: true,
  steady: true,
  limited_by: null,
};

const FOUND = {
  limit: 'p99_ms',
  ms: 1,
  rate: 7_000,
  curve: [
    [5_000, 0.3, 0.6, true],
    [7_000, 0.5, 0.9, true],
    [9_000, null, null, false],
    [10_000, 8, 30, false],
  ],
} as unknown as FindMaxResult;

describe('steps', () => {
  it('are named by their rate', () => {
    expect(stepText(STEP)).toBe(format('ops', 7_000));
    expect(stepText({ ...STEP, purpose: 'confirmation' })).toMatch(/confirmation$/);
    expect(stepText({ purpose: 'peak', rate: null })).toBe('closed loop');
  });

  it('report why the limit was missed', () => {
    expect(stepResult(STEP)).toBe('limit met');
    expect(stepResult({ ...STEP, met: false, limited_by: 'generator' })).toBe(
      'limit missed, by the load generator',
    );
    expect(stepResult({ ...STEP, steady: false })).toMatch('repeated');
    expect(stepResult({ ...STEP, met: null, steady: null })).toBe('not measured');
  });

  it('belong to repetitions of the last phase', () => {
    const run = { phases: [{}, {}], search: [STEP] } as unknown as Benchmark;
    expect(stepOf(run, { phase: 1, repetition: 0 })).toBe(STEP);
    expect(stepOf(run, { phase: 0, repetition: 0 })).toBeUndefined();
    expect(searchOf(run)).toBeUndefined();
  });
});

describe('curve', () => {
  const curve = rateCurve('a', FOUND);

  it('contains the limited latency of measured rates', () => {
    expect(curve.points).toEqual([
      { rate: 5_000, ms: 0.6 },
      { rate: 7_000, ms: 0.9 },
      { rate: 10_000, ms: 30 },
    ]);
    expect(axisTop(1)).toBeLessThan(30);
  });

  it('has a latency at measured rates', () => {
    expect(latencyAt([curve], 7_000)).toBe(0.9);
    expect(latencyAt([curve], 7_001)).toBeUndefined();
  });

  it('is read at the nearest measured rate', () => {
    expect(nearestRate([curve], 5_900)).toBe(5_000);
    expect(nearestRate([curve], 1e9)).toBe(10_000);
    expect(nearestRate([], 1)).toBeUndefined();
  });
});

it('measures the confirmation runs at the found rate only', () => {
  const confirmation = { ...STEP, purpose: 'confirmation' };
  const results = [0, 1, 2, 3].map((repetition) => ({ phase: 0, repetition, ops: 1 }));
  const run = {
    phases: [{}],
    search: [STEP, { ...confirmation, rate: 8_000 }, confirmation, { ...STEP, rate: 9_000 }],
    summary: { results, find_max: FOUND },
  } as unknown as Benchmark;
  expect(measuredResult(run)?.repetition).toBe(2);
  const interrupted = { ...confirmation, met: null } as SearchStep;
  const search = [STEP, run.search[2], interrupted, STEP] as SearchStep[];
  expect(measuredResult({ ...run, search })?.repetition).toBe(1);
  expect(measuredResult({ ...run, search: [STEP, STEP, STEP, STEP] })).toBeUndefined();
  const plain = { ...run, search: [], summary: { results } } as unknown as Benchmark;
  expect(measuredResult(plain)?.repetition).toBe(3);
});
