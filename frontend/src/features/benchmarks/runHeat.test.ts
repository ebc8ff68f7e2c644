import { describe, expect, it } from 'vitest';
import { secondOf, together } from './runHeat';

describe('secondOf', () => {
  it('puts requests where they belong on the scale', () => {
    // 100 µs is row 40 of 20 to a power of ten, 112 µs still is, 113 µs is the next one.
    expect(secondOf({ '100': 3, '112': 2, '113': 1 })).toEqual({
      seconds: 1,
      row: 40,
      counts: [5, 1],
    });
  });

  it('keeps rows without a request between others', () => {
    expect(secondOf({ '1000': 1, '100': 1 }).counts).toEqual([1, ...Array(19).fill(0), 1]);
  });

  it('has a place for what took less than a microsecond', () => {
    expect(secondOf({ '0': 2 })).toEqual({ seconds: 1, row: 0, counts: [2] });
  });

  it('knows of a second without a success that there was none', () => {
    expect(secondOf({})).toEqual({ seconds: 1, row: 0, counts: [] });
  });
});

describe('together', () => {
  it('adds up what seconds counted', () => {
    const both = together([secondOf({ '100': 1 }), secondOf({}), secondOf({ '113': 4, '100': 1 })]);
    expect(both).toEqual({ seconds: 3, row: 40, counts: [2, 4] });
  });

  it('is silent of seconds that nobody knows', () => {
    expect(together([])).toBeUndefined();
  });
});
