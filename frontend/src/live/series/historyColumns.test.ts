import { describe, expect, it } from 'vitest';
import {
  appendHistory,
  historyEnd,
  sliceStart,
  sliceWindow,
  toHistoryColumns,
} from './historyColumns';

const GAP = Number.NaN;
const reply = (from: number, values: (number | null)[], step = 10) => ({
  resolution: `${step}sec`,
  from,
  step,
  count: values.length,
  metrics: ['ops'],
  series: { '1': [values] },
});
const REPLY_TIME = 10_000;
const row = (columns: ReturnType<typeof toHistoryColumns>) => [
  ...(columns.series.get('1')?.get('ops') ?? []),
];

describe('toHistoryColumns', () => {
  it('keeps gaps', () => {
    expect(row(toHistoryColumns(reply(100, [1, null, 3]), REPLY_TIME))).toEqual([1, GAP, 3]);
  });

  it('omits an interval that has just started', () => {
    expect(row(toHistoryColumns(reply(100, [1, 2]), 111))).toEqual([1, GAP]);
    expect(row(toHistoryColumns(reply(100, [1, 2]), 112))).toEqual([1, 2]);
    expect(row(toHistoryColumns(reply(100, [1]), 101))).toEqual([1]);
    expect(row(toHistoryColumns(reply(100, [1, 2], 1), 101))).toEqual([1, 2]);
  });
});

describe('appendHistory', () => {
  const older = toHistoryColumns(reply(100, [1, 2, 3]), REPLY_TIME);

  it('prefers newer values and removes values outside the range', () => {
    const joined = appendHistory(older, toHistoryColumns(reply(120, [30, 40]), REPLY_TIME), 110);
    expect(joined.from).toBe(110);
    expect(row(joined)).toEqual([2, 30, 40]);
    expect(historyEnd(joined)).toBe(140);
  });

  it('keeps a gap between both parts', () => {
    expect(row(appendHistory(older, toHistoryColumns(reply(140, [5]), REPLY_TIME), 0))).toEqual([
      1,
      2,
      3,
      GAP,
      5,
    ]);
  });

  it('keeps a series that has ended', () => {
    const newer = { ...toHistoryColumns(reply(130, [4]), REPLY_TIME), series: new Map() };
    expect(row(appendHistory(older, newer, 0))).toEqual([1, 2, 3, GAP]);
  });
});

describe('sliceWindow', () => {
  const columns = toHistoryColumns(reply(100, [1, 2, 3]), REPLY_TIME);

  it('returns complete intervals, and gaps without data', () => {
    const window = { from: 95, to: 125 };
    expect([...sliceWindow(columns, '1', 'ops', window)]).toEqual([GAP, 1, 2, 3]);
    expect(sliceStart(columns, 95)).toBe(90);
    expect([...sliceWindow(columns, '1', 'ops', { from: 110, to: 120 })]).toEqual([2]);
    expect([...sliceWindow(columns, '2', 'ops', { from: 110, to: 120 })]).toEqual([GAP]);
  });
});
