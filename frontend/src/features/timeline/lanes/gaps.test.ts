import { describe, expect, it } from 'vitest';
import { gapLane, gapsOf } from './gaps';

const row = (text: string) =>
  Float64Array.from([...text].map((char) => (char === '.' ? Number.NaN : 1)));
const gaps = (text: string, { edge = 100 + text.length, step = 1 } = {}) =>
  gapsOf({ from: 100, step, rows: [row(text)] }, edge);

describe('gapsOf', () => {
  it('finds each interval without samples', () => {
    expect(gaps('11..1.1')).toEqual([
      { from: 102, to: 104 },
      { from: 105, to: 106 },
    ]);
    expect(gaps('..11')).toEqual([{ from: 100, to: 102 }]);
    expect(gaps('1111')).toEqual([]);
    expect(gaps('1..1', { step: 60, edge: 340 })).toEqual([{ from: 160, to: 280 }]);
  });

  it('is an open gap at the edge only if the samples are more than late', () => {
    expect(gaps('111..')).toEqual([]);
    expect(gaps(`111${'.'.repeat(60)}`)).toEqual([{ from: 103, to: null }]);
  });

  it('ends at the end of a window in the past, and ignores the future', () => {
    expect(gaps('11..', { edge: 1_000 })).toEqual([{ from: 102, to: 104 }]);
    expect(gaps('11......', { edge: 102 })).toEqual([]);
  });

  it('counts a second as known if one row has a value', () => {
    expect(gapsOf({ from: 0, step: 1, rows: [row('1..1'), row('11.1')] }, 4)).toEqual([
      { from: 2, to: 3 },
    ]);
  });
});

describe('gapLane', () => {
  it('describes the time of each gap', () => {
    const [item] = gapLane([{ from: 1_772_337_787, to: 1_772_337_799 }], 'utc').items;
    expect(item?.label.replaceAll('\u00a0', ' ')).toBe('No samples for 12 s: 04:03:07–19');
  });
});
