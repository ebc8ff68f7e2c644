import { describe, expect, it } from 'vitest';
import { rankByMean, rankByOutlier } from './outliers';

const flat = (value: number) => new Float64Array(5).fill(value);

describe('rankByOutlier', () => {
  it('ranks shards without samples first, then outliers, and keeps the order of the others', () => {
    const ranked = rankByOutlier([
      { uid: '10', values: flat(10) },
      { uid: '2', values: flat(10) },
      { uid: '6', values: flat(10) },
      { uid: '3', values: flat(90) },
      { uid: '4', values: flat(11) },
      { uid: '5', values: flat(Number.NaN) },
    ]);
    expect(ranked.map(({ uid }) => uid)).toEqual(['5', '3', '10', '2', '6', '4']);
  });
});

describe('rankByMean', () => {
  it('ranks the highest mean first and shards without samples last', () => {
    const series = [
      { uid: '1', values: flat(Number.NaN) },
      { uid: '2', values: flat(3) },
      { uid: '3', values: flat(9) },
    ];
    expect(rankByMean(series)).toEqual(['3', '2', '1']);
  });
});
