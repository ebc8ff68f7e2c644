import { describe, expect, it } from 'vitest';
import {
  ago,
  clock,
  duration,
  formatDateTime,
  formatDateTimeMs,
  formatPreciseDuration,
  zoneName,
} from './time';

const plain = (text: string) => text.replaceAll('\u00a0', ' ');

describe('time', () => {
  it.each([
    [0, '0 s'],
    [41, '41 s'],
    [123, '2 min 3 s'],
    [120, '2 min'],
    [3840, '1 h 4 min'],
    [180_000, '2 d 2 h'],
    [-5, '0 s'],
  ])('%d seconds are %s', (seconds, text) => {
    expect(plain(duration(seconds))).toBe(text);
  });

  it.each([
    [0.385, '0.39 s'],
    [0.1, '0.1 s'],
    [0.996, '1 s'],
    [4.24, '4.2 s'],
    [9.97, '10 s'],
    [41.4, '41 s'],
    [123, '2 min 3 s'],
  ])('%d seconds are formatted precisely as %s', (seconds, text) => {
    expect(plain(formatPreciseDuration(seconds))).toBe(text);
  });

  it('formats elapsed time with one unit', () => {
    expect(ago(1000, 1500)).toBe('just now');
    expect(plain(ago(0, 12_000))).toBe('12 s ago');
    expect(plain(ago(0, 195_000))).toBe('3 min ago');
  });

  it('formats instants in UTC', () => {
    const at = Date.UTC(2026, 2, 1, 4, 3, 7);
    expect(clock(at, 'utc')).toBe('04:03:07');
    expect(formatDateTime(at, 'utc')).toBe('2026-03-01 04:03:07 UTC');
    expect(formatDateTimeMs(at + 45.6, 'utc')).toBe('2026-03-01 04:03:07.045 UTC');
  });

  it('names the time zone instead of its offset, which changes during the year', () => {
    expect(zoneName('utc')).toBe('UTC');
    expect(zoneName('local')).toBe(Intl.DateTimeFormat().resolvedOptions().timeZone);
  });
});
