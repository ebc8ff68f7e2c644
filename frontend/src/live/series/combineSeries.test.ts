import { describe, expect, it } from 'vitest';
import { type CombineRule, combineSeries } from './combineSeries';

const GAP = Number.NaN;
const VALUES: Record<string, number[]> = { '1': [1, GAP, 3, GAP], '2': [5, 7, GAP, GAP] };

const combined = (rule?: CombineRule, scale?: number) => [
  ...combineSeries(
    { uids: ['1', '2'], metric: 'ops', ...(rule && { rule }), ...(scale && { scale }) },
    4,
    (uid, _, add) => {
      const values = VALUES[uid] ?? [];
      add(0, Float64Array.from(values.slice(0, 1)));
      add(1, Float64Array.from(values.slice(1)));
    },
  ),
];

describe('combineSeries', () => {
  it.each<[CombineRule | undefined, number[]]>([
    [undefined, [6, 7, 3, GAP]],
    ['mean', [3, 7, 3, GAP]],
    ['max', [5, 7, 3, GAP]],
    ['min', [1, 7, 3, GAP]],
  ])('%s ignores missing values', (rule, expected) => {
    expect(combined(rule)).toEqual(expected);
  });

  it('applies the scale to the result', () => {
    expect(combined('mean', 10)).toEqual([30, 70, 30, GAP]);
  });
});
