import { describe, expect, it } from 'vitest';
import { formatWindow, oldestSecond, rangeUnavailableReason } from './ranges';

const NOW = 1_000_000_000;
const DAY = 86_400;
const retained = (step: number, retention: number, age: number) => ({
  step,
  retention,
  from: Math.floor((NOW - age) / step) * step,
});

describe('oldestSecond', () => {
  it('ignores the start of long intervals without data', () => {
    const all = [
      retained(1, 3_600, 100),
      retained(300, 14 * DAY, 100),
      retained(604_800, 3_660 * DAY, 100),
    ];
    expect(oldestSecond(all, NOW)).toBe(NOW - 100);
  });

  it('uses a coarser resolution if the finer one has dropped data', () => {
    const all = [retained(1, 3_600, 3_600), retained(10, DAY, 7_000)];
    expect(oldestSecond(all, NOW)).toBe(NOW - 7_000);
  });

  it('returns NaN without stored metrics', () => {
    expect(oldestSecond([], NOW)).toBeNaN();
  });
});

describe('rangeUnavailableReason', () => {
  it('allows a stored range if it shows more than the shorter one', () => {
    expect(rangeUnavailableReason(3_600, NOW - 901, NOW)).toBeUndefined();
    expect(rangeUnavailableReason(3_600, NOW - 120, NOW)).toBe(
      'Stored metrics go back 2\u00a0min: a shorter range shows all of them',
    );
    expect(rangeUnavailableReason(86_400, NOW - 7_200, NOW)).toContain('2\u00a0h');
    expect(rangeUnavailableReason(86_400, Number.NaN, NOW)).toBe('No metrics are stored yet');
  });

  it('always allows live ranges', () => {
    expect(rangeUnavailableReason(900, Number.NaN, NOW)).toBeUndefined();
  });
});

describe('formatWindow', () => {
  const at = (text: string) => Date.parse(text) / 1000;

  it.each([
    ['2026-03-01T14:03:07Z', '2026-03-01T14:05:00Z', '1\u00a0Mar 14:03:07–14:05:00'],
    ['2026-03-01T14:03:07Z', '2026-03-03T02:00:00Z', '1\u00a0Mar 14:03–3\u00a0Mar 02:00'],
    [
      '2025-12-31T14:03:07Z',
      '2026-01-01T02:00:00Z',
      '31\u00a0Dec\u00a02025 14:03–1\u00a0Jan\u00a02026 02:00',
    ],
  ])('%s to %s', (from, to, text) => {
    expect(formatWindow(at(from), at(to), 'utc', at('2026-04-01T00:00:00Z') * 1000)).toBe(text);
  });
});
