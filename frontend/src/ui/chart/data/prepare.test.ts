import { describe, expect, it } from 'vitest';
import { figures, isBlank, niceCeiling, prepare, toCsv } from './prepare';

const of = (...values: number[]) => Float64Array.from(values);
const GAP = Number.NaN;
const seconds = (from: number, ...rows: Float64Array[]) => ({ from, step: 1, rows });

describe('prepare', () => {
  it('places values at the seconds of the window and keeps gaps', () => {
    const { x, drawn } = prepare(seconds(100, of(1, GAP, 3)), 'lines');
    expect(x).toEqual([100, 101, 102]);
    expect(drawn).toEqual([[1, null, 3]]);
  });

  it('stacks from the bottom up and keeps seconds without samples as gaps', () => {
    const columns = seconds(0, of(1, GAP, 1), of(2, GAP, GAP), of(4, GAP, 4));
    const { drawn, raw } = prepare(columns, 'stacked');
    expect(drawn).toEqual([
      [1, null, 1],
      [3, null, 1],
      [7, null, 5],
    ]);
    expect(Array.from(raw[2] ?? [])).toEqual([4, GAP, 4]);
  });

  it('places longer intervals at their middle', () => {
    const { x } = prepare({ from: 600, step: 300, rows: [of(1, 2)] }, 'lines');
    expect(x).toEqual([750, 1050]);
  });
});

describe('figures', () => {
  it('ignores gaps', () => {
    expect(figures(of(1, GAP, 3, 2))).toEqual({ min: 1, avg: 2, max: 3, last: 2 });
  });

  it('returns NaN for an empty window, and no last value if recent samples are missing', () => {
    expect(figures(of(GAP, GAP))).toEqual({ min: GAP, avg: GAP, max: GAP, last: GAP });
    expect(figures(of(5, GAP, GAP, GAP, GAP)).last).toBeNaN();
    expect(figures(of(5, GAP, GAP, GAP)).last).toBe(5);
  });

  it('uses the lowest and highest second of an interval, and weighted averages', () => {
    const extremes = { low: of(10, GAP, 0), high: of(15, GAP, 90) };
    const found = figures(of(10, GAP, 40), 2, extremes, of(3, 0, 1));
    expect(found).toEqual({ min: 0, avg: 17.5, max: 90, last: 40 });
  });

  it('uses weight 1 for values with unknown weight', () => {
    expect(figures(of(10, 20), 2, undefined, of(GAP, 3)).avg).toBe(17.5);
  });

  it('uses the average of an interval if its extremes are unknown', () => {
    const extremes = { low: of(GAP, GAP), high: of(GAP, GAP) };
    expect(figures(of(10, 20), 2, extremes)).toMatchObject({ min: 10, max: 20 });
  });
});

describe('niceCeiling', () => {
  it.each([
    [0, false, 1],
    [94, false, 100],
    [101, false, 120],
    [0.7, false, 0.8],
    [1.7 * 2 ** 30, true, 2 * 2 ** 30],
    [900, true, 1000],
  ])('%d becomes %d', (value, binary, top) => {
    expect(niceCeiling(value, binary)).toBeCloseTo(top, 6);
  });
});

describe('toCsv', () => {
  it('writes times, quotes labels and leaves gaps empty', () => {
    const raw = [of(1, GAP), of(2, 3)];
    const csv = toCsv({ x: [0, 1], step: 1, raw }, ['Reads', 'a "b", c']);
    expect(csv).toBe(
      'time,Reads,"a ""b"", c"\n1970-01-01T00:00:00.000Z,1,2\n1970-01-01T00:00:01.000Z,,3',
    );
  });

  it('writes the start of each interval', () => {
    expect(toCsv({ x: [5], step: 10, raw: [of(1)] }, ['a'])).toBe(
      'time,a\n1970-01-01T00:00:00.000Z,1',
    );
  });
});

describe('isBlank', () => {
  it.each([
    [[], true],
    [[[]], true],
    [[[null, null], [null]], true],
    [[[null, 0], [null]], false],
  ])('%j: %s', (drawn, blank) => {
    expect(isBlank(drawn)).toBe(blank);
  });
});
