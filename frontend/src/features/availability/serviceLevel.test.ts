import { describe, expect, it } from 'vitest';
import type { AvailabilityMonth } from '@/api/types';
import { allowedSeconds, parseTarget, percentText, unknownShare, verdictOf } from './serviceLevel';

const row = (part: Partial<AvailabilityMonth>): AvailabilityMonth => ({
  bdb_uid: 1,
  name: 'shop',
  month: '2026-11',
  counted_from: '2026-11-01T00:00:00Z',
  counted_until: '2026-11-30T00:00:00Z',
  served: 0,
  failed: 0,
  unknown: 0,
  percent: null,
  ...part,
});

describe('service level', () => {
  it('is unknown without known time', () => {
    expect(verdictOf({ percent: null }, 99)).toBe('unknown');
    expect(percentText(null)).toBe('–');
  });

  it('is compared with the exact percentage', () => {
    expect(verdictOf({ percent: 99.999 }, 99.999)).toBe('met');
    expect(verdictOf({ percent: 99.99899 }, 99.999)).toBe('missed');
  });

  it('shows 100% only without failure', () => {
    expect(percentText(99.99999)).toBe('99.99999%');
    expect(percentText(100)).toBe('100%');
  });

  it('allows seconds of a complete month', () => {
    expect(allowedSeconds('2026-11', 99.999)).toBeCloseTo(25.92);
    expect(allowedSeconds('2026-12', 99.9)).toBeCloseTo(2678.4);
    expect(allowedSeconds('2028-02', 0)).toBe(29 * 86_400);
  });

  it('reports the unknown share of the counted time', () => {
    expect(unknownShare(row({ served: 60, failed: 20, unknown: 20 }))).toBe(0.2);
    expect(unknownShare(row({}))).toBe(0);
  });

  it('accepts targets between 0 and 100', () => {
    expect([99.95, '99.9', 100].map(parseTarget)).toEqual([99.95, 99.9, 100]);
    expect([0, -1, 101, 'x', '', undefined].map(parseTarget)).toEqual(new Array(6).fill(undefined));
  });
});
