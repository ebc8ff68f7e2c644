import { describe, expect, it } from 'vitest';
import { axesOf, chartsOf, chartTitle, nearestX, sortedPoints, valueAtX } from './series';

const series = (name: string, unit: string, points: [number, number][], ideal = false) => ({
  name,
  unit,
  x_unit: 'nodes',
  points,
  ideal,
});

const THROUGHPUT = series('Throughput', 'ops/s', [
  [26, 50],
  [3, 6],
  [12, 22],
]);
const IDEAL = series(
  'Linear',
  'ops/s',
  [
    [0, 0],
    [26, 52],
  ],
  true,
);
const LATENCY = series('Average', 'ms', [
  [3, 0.4],
  [6, 0.5],
]);

describe('chartsOf', () => {
  it('puts series with the same units into one chart', () => {
    expect(chartsOf([THROUGHPUT, LATENCY, IDEAL])).toEqual([[THROUGHPUT, IDEAL], [LATENCY]]);
    expect(chartsOf([LATENCY, { ...LATENCY, x_unit: 'ops/s' }])).toHaveLength(2);
  });

  it('omits charts with fewer than two positions', () => {
    const one = series('Throughput', 'ops/s', [[3, 6]]);
    expect(chartsOf([series('Average', 'ms', []), one, { ...one, ideal: true }])).toEqual([]);
  });
});

describe('a chart', () => {
  it('is named after its measurements', () => {
    expect(chartTitle([THROUGHPUT, IDEAL])).toBe('Throughput by nodes');
    expect(chartTitle([series('Hit ratio', '%', []), { ...IDEAL, unit: '%' }])).toBe(
      'Hit ratio by nodes',
    );
    expect(chartTitle([LATENCY, LATENCY].map((each) => ({ ...each, x_unit: 'ops/s' })))).toBe(
      'Latency by throughput',
    );
  });

  it('has axes from 0 that include all points', () => {
    const { ticks, levels } = axesOf([THROUGHPUT, IDEAL]);
    expect(ticks[0]).toBe(0);
    expect(ticks.at(-1)).toBeGreaterThanOrEqual(26);
    expect(levels.at(-1)).toBeGreaterThanOrEqual(52);
    expect(axesOf([series('Zero', 'ms', [[0, 0]])]).levels.at(-1)).toBeGreaterThan(0);
  });

  it('draws points in the order of the horizontal axis', () => {
    expect(sortedPoints(THROUGHPUT).map(([x]) => x)).toEqual([3, 12, 26]);
  });

  it('shows the values of the nearest point', () => {
    expect(nearestX([THROUGHPUT, LATENCY], 10)).toBe(12);
    expect(nearestX([], 10)).toBeUndefined();
    expect(valueAtX(THROUGHPUT, 12)).toBe(22);
    expect(valueAtX(IDEAL, 12)).toBeUndefined();
  });
});
