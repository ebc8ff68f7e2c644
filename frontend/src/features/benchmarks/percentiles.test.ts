import { describe, expect, it } from 'vitest';
import {
  axisLevels,
  type Curve,
  nearestPercentile,
  percentileAxisEnd,
  percentileLabel,
  percentilePosition,
  rowsOf,
  ticksOf,
  valueAt,
} from './percentiles';

const curve = (name: string, ...pairs: [percentile: number, ms: number][]): Curve => ({
  name,
  points: pairs.map(([percentile, ms]) => ({ percentile, ms })),
});
const LONG = curve('long', [0, 0.1], [50, 0.2], [90, 0.3], [99, 1], [99.9, 4], [100, 9]);
const SHORT = curve('short', [0, 0.1], [50, 0.4], [90, 0.5], [100, 2]);

describe('the axis', () => {
  it('uses the same distance per nine and places the slowest request at the end', () => {
    const end = percentileAxisEnd([LONG, SHORT]);
    expect(end).toBeCloseTo(3.5);
    const step = percentilePosition(99, end) - percentilePosition(90, end);
    expect(percentilePosition(99.9, end) - percentilePosition(99, end)).toBeCloseTo(step);
    expect(percentilePosition(0, end)).toBeCloseTo(0);
    expect(percentilePosition(100, end)).toBe(1);
    expect(ticksOf(2.5)).toEqual([0, 50, 90, 99, 100]);
  });
});

describe('labels of the axes', () => {
  it.each([
    [1.5, [0, 50, 90, 100]],
    [3.5, [50, 90, 99, 99.9, 100]],
    [5.5, [50, 90, 99, 99.9, 99.99, 100]],
    [6.5, [50, 90, 99, 99.9, 99.99, 99.999, 100]],
  ])('do not overlap on an axis that ends at %f', (end, ticks) =>
    expect(ticksOf(end)).toEqual(ticks),
  );

  it.each([
    [20.8, [0, 6, 12, 18, 24]],
    [0.477, [0, 0.12, 0.24, 0.36, 0.48]],
    [4, [0, 1, 2, 3, 4]],
  ])('are round numbers up to %f ms', (top, levels) => {
    const actual = axisLevels(top);
    expect(actual).toHaveLength(levels.length);
    for (const [index, level] of levels.entries()) expect(actual[index]).toBeCloseTo(level, 9);
  });
});

describe('values', () => {
  it('are taken from the measured point nearest to the pointer', () => {
    const end = percentileAxisEnd([LONG]);
    expect(nearestPercentile([LONG], percentilePosition(99, end) + 0.02, end)).toBe(99);
    expect(nearestPercentile([LONG], 1, end)).toBe(100);
    expect(nearestPercentile([], 0.5, 1)).toBeUndefined();
    expect(valueAt(SHORT, 99)).toBeUndefined();
  });

  it('are missing if a run made too few requests', () => {
    expect(rowsOf([LONG, SHORT]).find(({ percentile }) => percentile === 99)?.values).toEqual([
      1,
      undefined,
    ]);
    expect(rowsOf([LONG]).map(({ percentile }) => percentile)).toEqual([0, 50, 90, 99, 99.9, 100]);
  });

  it('have percentile names', () => {
    expect([0, 50, 99.9, 99.999, 100].map(percentileLabel)).toEqual([
      'Fastest',
      'P50',
      'P99.9',
      'P99.999',
      'Slowest',
    ]);
    expect(percentileLabel(99.498812766373)).toBe('P99.499');
  });
});
