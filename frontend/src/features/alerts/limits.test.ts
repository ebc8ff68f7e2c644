import { describe, expect, it } from 'vitest';
import { changesOf, faultOf, type Limit, wantedOf } from './limits';

const SIZE: Limit = { name: 'size', label: 'Fuller than', unit: '%', usual: '80', most: 100 };
const EVEN: Limit = { name: 'even', label: 'Even' };

describe('wantedOf', () => {
  it('uses the default threshold until a different one is set', () => {
    expect(wantedOf(SIZE, {})).toEqual({ enabled: false, threshold: '80' });
    expect(wantedOf(SIZE, { size: { enabled: true, threshold: '5' } })).toEqual({
      enabled: true,
      threshold: '5',
    });
    expect(wantedOf(EVEN, { even: { enabled: true } })).toEqual({ enabled: true });
  });
});

describe('changesOf', () => {
  it('returns only changed entries', () => {
    const now = { size: { enabled: true, threshold: '5' } };
    const draft = {
      size: { enabled: true, threshold: '6' },
      even: { enabled: false, threshold: undefined },
    };
    expect(changesOf([SIZE, EVEN], now, draft)).toEqual({ size: draft.size });
    expect(changesOf([SIZE, EVEN], now, {})).toEqual({});
  });
});

describe('faultOf', () => {
  it.each([
    ['', 'Enter a number, such as 80 or 92.5'],
    ['-1', 'Enter a number, such as 80 or 92.5'],
    ['1e3', 'Enter a number, such as 80 or 92.5'],
    ['100.5', 'The maximum is 100'],
    ['92.5', undefined],
  ])('returns the error of %o: %o', (threshold, fault) =>
    expect(faultOf(SIZE, threshold)).toBe(fault),
  );
  it('accepts only whole days', () => {
    const days: Limit = { name: 'days', label: 'Within', unit: 'days', whole: true };
    expect(faultOf(days, '45')).toBeUndefined();
    for (const other of ['4.5', '', '-1', '123456'])
      expect(faultOf(days, other), other).toBeDefined();
  });
  it('returns no error for alerts without a threshold', () =>
    expect(faultOf(EVEN, undefined)).toBeUndefined());
});
