import { describe, expect, it } from 'vitest';
import { type AlertThreshold, alertSettingOf, changesOf, thresholdError } from './alertThresholds';

const SIZE: AlertThreshold = {
  name: 'size',
  label: 'Fuller than',
  unit: '%',
  defaultThreshold: '80',
  max: 100,
};
const EVEN: AlertThreshold = { name: 'even', label: 'Even' };

describe('alertSettingOf', () => {
  it('uses the default threshold until a different one is set', () => {
    expect(alertSettingOf(SIZE, {})).toEqual({ enabled: false, threshold: '80' });
    expect(alertSettingOf(SIZE, { size: { enabled: true, threshold: '5' } })).toEqual({
      enabled: true,
      threshold: '5',
    });
    expect(alertSettingOf(EVEN, { even: { enabled: true } })).toEqual({ enabled: true });
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

describe('thresholdError', () => {
  it.each([
    ['', 'Enter a number, such as 80 or 92.5'],
    ['-1', 'Enter a number, such as 80 or 92.5'],
    ['1e3', 'Enter a number, such as 80 or 92.5'],
    ['100.5', 'The maximum is 100'],
    ['92.5', undefined],
  ])('returns the error of %o: %o', (threshold, expected) =>
    expect(thresholdError(SIZE, threshold)).toBe(expected),
  );
  it('accepts only whole days', () => {
    const days: AlertThreshold = { name: 'days', label: 'Within', unit: 'days', integer: true };
    expect(thresholdError(days, '45')).toBeUndefined();
    for (const other of ['4.5', '', '-1', '123456'])
      expect(thresholdError(days, other), other).toBeDefined();
  });
  it('returns no error for alerts without a threshold', () =>
    expect(thresholdError(EVEN, undefined)).toBeUndefined());
});
