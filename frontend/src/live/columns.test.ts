import { describe, expect, it } from 'vitest';
import { append, cut, cutFrom, endOf, toColumns } from './columns';

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
const row = (columns: ReturnType<typeof toColumns>) => [
  ...(columns.series.get('1')?.get('ops') ?? []),
];

describe('toColumns', () => {
  it('keeps gaps', () => {
    expect(row(toColumns(reply(100, [1, null, 3]), REPLY_TIME))).toEqual([1, GAP, 3]);
  });

  it('omits an interval that has just started', () => {
    expect(row(toColumns(reply(100, [1, 2]), 111))).toEqual([1, GAP]);
    expect(row(toColumns(reply(100, [1, 2]), 112))).toEqual([1, 2]);
    expect(row(toColumns(reply(100, [1]), 101))).toEqual([1]);
    expect(row(toColumns(reply(100, [1, 2], 1), 101))).toEqual([1, 2]);
  });
});

describe('append', () => {
  const older = toColumns(reply(100, [1, 2, 3]), REPLY_TIME);

  it('prefers newer values and removes values outside the range', () => {
    const joined = append(older, toColumns(reply(120, [30, 40]), REPLY_TIME), 110);
    expect(joined.from).toBe(110);
    expect(row(joined)).toEqual([2, 30, 40]);
    expect(endOf(joined)).toBe(140);
  });

  it('keeps a gap between both parts', () => {
    expect(row(append(older, toColumns(reply(140, [5]), REPLY_TIME), 0))).toEqual([
      1,
      2,
      3,
      GAP,
      5,
    ]);
  });

  it('keeps a series that has ended', () => {
    const newer = { ...toColumns(reply(130, [4]), REPLY_TIME), series: new Map() };
    expect(row(append(older, newer, 0))).toEqual([1, 2, 3, GAP]);
  });
});

describe('cut', () => {
  const columns = toColumns(reply(100, [1, 2, 3]), REPLY_TIME);

  it('returns complete intervals, and gaps without data', () => {
    const window = { from: 95, to: 125 };
    expect([...cut(columns, '1', 'ops', window)]).toEqual([GAP, 1, 2, 3]);
    expect(cutFrom(columns, 95)).toBe(90);
    expect([...cut(columns, '1', 'ops', { from: 110, to: 120 })]).toEqual([2]);
    expect([...cut(columns, '2', 'ops', { from: 110, to: 120 })]).toEqual([GAP]);
  });
});
