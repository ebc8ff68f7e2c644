import { describe, expect, it } from 'vitest';
import { freshness, LATE_MS } from './freshness';

const NOW = 1_000_000;

describe('freshness', () => {
  it.each([
    [{ taken: Number.NaN, arrived: Number.NaN }, false, 'waiting'],
    [{ taken: NOW - 500, arrived: NOW - 100 }, false, 'fresh'],
    [{ taken: NOW - LATE_MS - 900, arrived: NOW - LATE_MS - 1 }, false, 'late'],
    [{ taken: NOW - 2 * LATE_MS - 1, arrived: NOW }, false, 'late'],
    [{ taken: NOW, arrived: NOW }, true, 'lost'],
  ])('%o, lost %s: %s', (sample, lost, word) => {
    expect(freshness(sample, NOW, 0, lost)).toBe(word);
  });

  it('uses the clock of the console', () => {
    expect(freshness({ taken: NOW + 60_000, arrived: NOW }, NOW, 60_000, false)).toBe('fresh');
  });
});
