import { describe, expect, it } from 'vitest';
import { figures, niceCeiling, prepare, toCsv } from './prepare';

const of = (...values: number[]) => Float64Array.from(values);
const GAP = Number.NaN;

describe('prepare', () => {
  it('puts lines on the seconds of the window and leaves gaps open', () => {
    const { x, drawn } = prepare(100, [of(1, GAP, 3)], 'lines');
    expect(x).toEqual([100, 101, 102]);
    expect(drawn).toEqual([[1, null, 3]]);
  });

  it('stacks from the bottom up; a second without any sample stays a gap', () => {
    const { drawn, raw } = prepare(0, [of(1, GAP, 1), of(2, GAP, GAP), of(4, GAP, 4)], 'stacked');
    expect(drawn).toEqual([
      [1, null, 1],
      [3, null, 1],
      [7, null, 5],
    ]);
    expect(Array.from(raw[2] ?? [])).toEqual([4, GAP, 4]);
  });
});

describe('figures', () => {
  it('ignores gaps', () => {
    expect(figures(of(1, GAP, 3, 2))).toEqual({ min: 1, avg: 2, max: 3, last: 2 });
  });

  it('knows nothing of an empty window, and no last value of a silent series', () => {
    expect(figures(of(GAP, GAP))).toEqual({ min: GAP, avg: GAP, max: GAP, last: GAP });
    expect(figures(of(5, GAP, GAP, GAP, GAP)).last).toBeNaN();
    expect(figures(of(5, GAP, GAP, GAP)).last).toBe(5);
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
    const csv = toCsv([0, 1], ['Reads', 'a "b", c'], [of(1, GAP), of(2, 3)]);
    expect(csv).toBe(
      'time,Reads,"a ""b"", c"\n1970-01-01T00:00:00.000Z,1,2\n1970-01-01T00:00:01.000Z,,3',
    );
  });
});
