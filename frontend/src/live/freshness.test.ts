import { describe, expect, it } from 'vitest';
import { freshness, LATE_MS } from './freshness';

const NOW = 1_000_000;

describe('freshness', () => {
  it.each([
    [{ sampledAt: Number.NaN, receivedAt: Number.NaN }, false, 'waiting'],
    [{ sampledAt: NOW - 500, receivedAt: NOW - 100 }, false, 'fresh'],
    [{ sampledAt: NOW - LATE_MS - 900, receivedAt: NOW - LATE_MS - 1 }, false, 'late'],
    [{ sampledAt: NOW - 2 * LATE_MS - 1, receivedAt: NOW }, false, 'late'],
    [{ sampledAt: NOW, receivedAt: NOW }, true, 'lost'],
  ])('%o, lost %s: %s', (sample, lost, expected) => {
    expect(freshness(sample, NOW, 0, lost)).toBe(expected);
  });

  it('is partial only if the samples that are missing are not late', () => {
    const newest = { sampledAt: NOW, receivedAt: NOW };
    expect(freshness(newest, NOW, 0, false, false)).toBe('partial');
    expect(freshness(newest, NOW + LATE_MS + 1, 0, false, false)).toBe('late');
  });

  it('uses the clock of the console', () => {
    expect(freshness({ sampledAt: NOW + 60_000, receivedAt: NOW }, NOW, 60_000, false)).toBe(
      'fresh',
    );
  });
});
