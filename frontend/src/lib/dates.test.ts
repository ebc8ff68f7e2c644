import { describe, expect, it } from 'vitest';
import { day, fromField, interval, toField } from './dates';

const at = (text: string) => Date.parse(text) / 1000;

describe('interval', () => {
  it.each([
    ['2026-03-01T14:03:07Z', 1, '14:03:07'],
    ['2026-03-01T14:03:50Z', 10, '14:03:50–00'],
    ['2026-03-01T14:05:00Z', 300, '1\u00a0Mar 14:05–14:10'],
    ['2026-03-02T00:00:00Z', 604_800, '2\u00a0Mar–9\u00a0Mar'],
  ])('%s of %d s is %s', (time, step, text) => {
    expect(interval(at(time), step, 'utc')).toBe(text);
  });
});

describe('date fields', () => {
  it.each(['local', 'utc'] as const)('return the same instant in %s time', (zone) => {
    const ms = Date.parse('2026-10-25T01:30:05Z');
    expect(fromField(toField(ms, zone), zone)).toBe(ms);
  });

  it('return NaN for an invalid date', () => {
    expect(fromField('', 'utc')).toBeNaN();
  });
});

describe('day', () => {
  it('supports leap years', () => {
    expect(day(Date.parse('2028-02-29T12:00:00Z'), 'utc')).toBe('29\u00a0Feb');
  });
});
