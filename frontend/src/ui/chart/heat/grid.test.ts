import { describe, expect, it } from 'vitest';
import {
  axisPositionOf,
  columnAt,
  countAt,
  extentOf,
  gapsOf,
  ratesOf,
  requestsOf,
  roundBounds,
  roundNumbers,
  rowOf,
  rowStart,
  summaryOf,
  ticks,
  toCsv,
} from './grid';
import type { HeatColumn } from './types';

const PER_DECADE = 20;
const column = (row: number, counts: number[], seconds = 1): HeatColumn => ({
  seconds,
  row,
  counts,
});
const GAP = column(0, [], 0);
const SILENT = column(0, []);

describe('columns', () => {
  it('are aligned with the seconds of other charts', () => {
    const grid = { from: 100, step: 3 };
    expect([99.6, 100, 102, 102.4, 102.6].map((position) => columnAt(grid, position))).toEqual([
      0, 0, 0, 0, 1,
    ]);
    expect(columnAt(grid, axisPositionOf(106))).toBe(2);
  });
});

describe('rows', () => {
  it('start at equal steps of a logarithmic scale', () => {
    expect(rowStart(40, PER_DECADE)).toBe(100);
    expect(rowStart(60, PER_DECADE)).toBe(1000);
    expect(rowStart(41, PER_DECADE)).toBeCloseTo(112.2, 1);
  });

  it('include their start', () => {
    for (const row of [0, 7, 40, 41, 59, 155]) {
      expect(rowOf(rowStart(row, PER_DECADE), PER_DECADE)).toBe(row);
      expect(rowOf(rowStart(row + 0.99, PER_DECADE), PER_DECADE)).toBe(row);
    }
  });
});

describe('cells', () => {
  it('are requests per second for every column width', () => {
    expect([...ratesOf(column(40, [30, 0, 3], 3))]).toEqual([
      [40, 10],
      [42, 1],
    ]);
  });

  it('have counts only within the column', () => {
    const some = column(40, [30, 0, 3]);
    expect(requestsOf(some)).toBe(33);
    expect([39, 40, 41, 42, 43].map((row) => countAt(some, row))).toEqual([0, 30, 0, 3, 0]);
    expect(requestsOf(undefined)).toBe(0);
  });

  it('have an extent if there are requests', () => {
    const columns = [column(40, [30, 0, 3]), GAP, column(38, [9], 3), undefined];
    expect(extentOf(columns)).toEqual({ rows: [38, 42], rates: [3, 30] });
    expect(extentOf([GAP, SILENT, undefined])).toBeNull();
  });

  it('have a summary', () => {
    const columns = [column(40, [30, 0, 3]), GAP, column(38, [29, 0, 2])];
    expect(summaryOf(columns)).toEqual({ requests: 64, busiest: 40, slowest: 42 });
    expect(summaryOf([GAP, SILENT])).toBeNull();
  });
});

describe('gaps', () => {
  it('are columns without counting, not columns without requests', () => {
    const columns = [column(40, [1]), GAP, GAP, SILENT, GAP, undefined];
    expect(gapsOf({ from: 100, step: 3, perDecade: 20, columns })).toEqual([
      [103, 109],
      [112, 115],
    ]);
  });
});

describe('axis', () => {
  it('ends at round numbers', () => {
    expect(roundBounds(112, 1_258)).toEqual([100, 2_000]);
    expect(roundBounds(100, 1_000)).toEqual([100, 1_000]);
    expect(roundBounds(89, 91)).toEqual([50, 100]);
    expect(roundBounds(100, 100)).toEqual([100, 200]);
    expect(roundBounds(0.5, 3)).toEqual([0.5, 5]);
  });

  it('has as many labels as there is space for', () => {
    expect(roundNumbers(50, 1_000)).toEqual([50, 100, 200, 500, 1_000]);
    expect(ticks(50, 1_000, 6)).toEqual([50, 100, 200, 500, 1_000]);
    expect(ticks(10, 10_000, 6)).toEqual([10, 100, 1_000, 10_000]);
    expect(ticks(1, 1e7, 4)).toEqual([1, 100, 1e4, 1e6]);
  });
});

describe('toCsv', () => {
  it('has a line for every cell with requests', () => {
    const columns = [column(40, [3, 0, 1], 2), GAP];
    expect(toCsv({ from: 0, step: 2, perDecade: PER_DECADE, columns }).split('\n')).toEqual([
      'time,from (µs),to (µs),requests,seconds',
      '1970-01-01T00:00:00.000Z,100.0,112.2,3,2',
      '1970-01-01T00:00:00.000Z,125.9,141.3,1,2',
    ]);
  });
});
