import { describe, expect, it } from 'vitest';
import { countSlots, formatSlots, parseSlots, SLOT_COUNT, segments } from './slots';

describe('slots', () => {
  it('parses one range, several ranges and single slots', () => {
    expect(parseSlots('0-5460')).toEqual([{ from: 0, to: 5460 }]);
    expect(parseSlots('8000, 0-99')).toEqual([
      { from: 0, to: 99 },
      { from: 8000, to: 8000 },
    ]);
    expect(parseSlots('')).toEqual([]);
    expect(parseSlots(undefined)).toEqual([]);
  });

  it('ignores invalid slots', () => {
    expect(parseSlots('5-1,16384,abc,16383')).toEqual([{ from: 16383, to: 16383 }]);
  });

  it('counts and formats slots', () => {
    const ranges = parseSlots('0-99,8000');
    expect(countSlots(ranges)).toBe(101);
    expect(formatSlots(ranges)).toBe('0–99, 8000');
    expect(formatSlots([])).toBe('no slots');
  });

  it('covers all slots with segments and gaps', () => {
    const found = segments([
      { owner: 'b', ranges: parseSlots('200-299') },
      { owner: 'a', ranges: parseSlots('0-99') },
    ]);
    expect(found.map(({ from, to, owner }) => [from, to, owner])).toEqual([
      [0, 99, 'a'],
      [100, 199, null],
      [200, 299, 'b'],
      [300, SLOT_COUNT - 1, null],
    ]);
    expect(countSlots(found)).toBe(SLOT_COUNT);
  });
});
