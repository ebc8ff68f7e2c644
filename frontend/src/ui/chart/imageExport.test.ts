import { describe, expect, it } from 'vitest';
import { layoutLegend } from './imageExport';

describe('layoutLegend', () => {
  it('places entries side by side, and continues in the next row', () => {
    expect(layoutLegend([40, 40, 40], 200)).toEqual([
      { x: 12, row: 0 },
      { x: 85, row: 0 },
      { x: 12, row: 1 },
    ]);
  });

  it('places an entry that is wider than the image in a separate row', () => {
    expect(layoutLegend([20, 900, 20], 200).map(({ row }) => row)).toEqual([0, 1, 2]);
    expect(layoutLegend([], 200)).toEqual([]);
  });
});
