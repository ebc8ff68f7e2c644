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
const LATER = 10_000;
const row = (columns: ReturnType<typeof toColumns>) => [
  ...(columns.series.get('1')?.get('ops') ?? []),
];

describe('toColumns', () => {
  it('keeps gaps', () => {
    expect(row(toColumns(reply(100, [1, null, 3]), LATER))).toEqual([1, GAP, 3]);
  });

  it('leaves out an interval that has just begun', () => {
    expect(row(toColumns(reply(100, [1, 2]), 111))).toEqual([1, GAP]);
    expect(row(toColumns(reply(100, [1, 2]), 112))).toEqual([1, 2]);
    expect(row(toColumns(reply(100, [1]), 101))).toEqual([1]);
    expect(row(toColumns(reply(100, [1, 2], 1), 101))).toEqual([1, 2]);
  });
});

describe('append', () => {
  const older = toColumns(reply(100, [1, 2, 3]), LATER);

  it('takes the newer value where both know one, and forgets what fell out', () => {
    const joined = append(older, toColumns(reply(120, [30, 40]), LATER), 110);
    expect(joined.from).toBe(110);
    expect(row(joined)).toEqual([2, 30, 40]);
    expect(endOf(joined)).toBe(140);
  });

  it('leaves what is missing between them open', () => {
    expect(row(append(older, toColumns(reply(140, [5]), LATER), 0))).toEqual([1, 2, 3, GAP, 5]);
  });

  it('keeps a series that has ended', () => {
    const newer = { ...toColumns(reply(130, [4]), LATER), series: new Map() };
    expect(row(append(older, newer, 0))).toEqual([1, 2, 3, GAP]);
  });
});

describe('cut', () => {
  const columns = toColumns(reply(100, [1, 2, 3]), LATER);

  it('takes whole intervals, and gaps beyond what is known', () => {
    const window = { from: 95, to: 125 };
    expect([...cut(columns, '1', 'ops', window)]).toEqual([GAP, 1, 2, 3]);
    expect(cutFrom(columns, 95)).toBe(90);
    expect([...cut(columns, '1', 'ops', { from: 110, to: 120 })]).toEqual([2]);
    expect([...cut(columns, '2', 'ops', { from: 110, to: 120 })]).toEqual([GAP]);
  });
});
