import { describe, expect, it } from 'vitest';
import { rankAt } from './rank';

describe('rankAt', () => {
  it('returns the highest series and counts the others', () => {
    expect(rankAt([3, Number.NaN, 9, 1, 5], 2)).toEqual({ top: [2, 4], more: 2, withoutValue: 1 });
  });

  it('includes a single remaining series instead of counting it', () => {
    expect(rankAt([1, 2, 3], 2)).toEqual({ top: [2, 1, 0], more: 0, withoutValue: 0 });
  });
});
