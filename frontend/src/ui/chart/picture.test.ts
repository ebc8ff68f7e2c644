import { describe, expect, it } from 'vitest';
import { placed } from './picture';

describe('placed', () => {
  it('puts entries side by side, and what has no room into the next row', () => {
    expect(placed([40, 40, 40], 200)).toEqual([
      { x: 12, row: 0 },
      { x: 85, row: 0 },
      { x: 12, row: 1 },
    ]);
  });

  it('gives an entry that is wider than the picture a row of its own', () => {
    expect(placed([20, 900, 20], 200).map(({ row }) => row)).toEqual([0, 1, 2]);
    expect(placed([], 200)).toEqual([]);
  });
});
