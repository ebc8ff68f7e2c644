import { describe, expect, it } from 'vitest';
import { columnOfSecond, mergeHeatColumns } from './runHeatColumns';

describe('columnOfSecond', () => {
  it('assigns requests to the rows of the scale', () => {
    // With 20 rows per decade, 100 µs and 112 µs are in row 40, and 113 µs is in the next row.
    expect(columnOfSecond({ '100': 3, '112': 2, '113': 1 })).toEqual({
      seconds: 1,
      row: 40,
      counts: [5, 1],
    });
  });

  it('keeps empty rows between others', () => {
    expect(columnOfSecond({ '1000': 1, '100': 1 }).counts).toEqual([1, ...Array(19).fill(0), 1]);
  });

  it('assigns requests of less than a microsecond to the first row', () => {
    expect(columnOfSecond({ '0': 2 })).toEqual({ seconds: 1, row: 0, counts: [2] });
  });

  it('returns an empty column for a second without successful requests', () => {
    expect(columnOfSecond({})).toEqual({ seconds: 1, row: 0, counts: [] });
  });
});

describe('mergeHeatColumns', () => {
  it('adds up the counts of several seconds', () => {
    const both = mergeHeatColumns([
      columnOfSecond({ '100': 1 }),
      columnOfSecond({}),
      columnOfSecond({ '113': 4, '100': 1 }),
    ]);
    expect(both).toEqual({ seconds: 3, row: 40, counts: [2, 4] });
  });

  it('returns undefined without data', () => {
    expect(mergeHeatColumns([])).toBeUndefined();
  });
});
