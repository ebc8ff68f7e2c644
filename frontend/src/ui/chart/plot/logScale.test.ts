import { describe, expect, it } from 'vitest';
import { decades, positive } from './logScale';

describe('a logarithmic axis', () => {
  it('spans at least one complete power of ten', () => {
    expect(decades([[310, null, 2_100], [80]])).toEqual([10, 10_000]);
    expect(decades([[100]])).toEqual([100, 1_000]);
    expect(decades([[0, null]])).toEqual([1, 10]);
    expect(decades([[5], Float64Array.of(Number.NaN, 300)])).toEqual([1, 1_000]);
  });

  it('omits zero', () => {
    expect(positive([0, 5, null])).toEqual([null, 5, null]);
  });
});
