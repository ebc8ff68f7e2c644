import { describe, expect, it } from 'vitest';
import { cellSize } from './cellSize';

describe('cellSize', () => {
  it('shrinks until all cells fit the height', () => {
    expect(cellSize(380, 20, 440)).toBe(24);
    const size = cellSize(380, 342, 440);
    expect(Math.ceil(342 / Math.floor(380 / size)) * size).toBeLessThanOrEqual(440);
    expect(cellSize(50, 9999, 100)).toBe(10);
  });
});
