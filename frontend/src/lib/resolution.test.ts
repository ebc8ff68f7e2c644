import { describe, expect, it } from 'vitest';
import { chooseStep, intervalCount, intervalEnd, intervalStart } from './resolution';

const DAY = 86_400;
const NOW = Date.parse('2026-03-04T10:07:03Z') / 1000;

describe('intervals', () => {
  it('start on Monday for weeks, and at round times otherwise', () => {
    expect(intervalStart(NOW, 7 * DAY)).toBe(Date.parse('2026-03-02T00:00:00Z') / 1000);
    expect(intervalStart(NOW, 300)).toBe(Date.parse('2026-03-04T10:05:00Z') / 1000);
    expect(intervalEnd(NOW, 300)).toBe(Date.parse('2026-03-04T10:10:00Z') / 1000);
    expect(intervalEnd(300, 300)).toBe(300);
  });

  it('are counted if they overlap the window partially', () => {
    expect(intervalCount(299, 601, 300)).toBe(3);
    expect(intervalCount(300, 600, 300)).toBe(1);
    expect(intervalCount(5, 5, 1)).toBe(0);
  });
});

describe('chooseStep', () => {
  it.each([
    [900, 1],
    [3_600, 10],
    [6 * 3_600, 300],
    [DAY, 300],
    [7 * DAY, 900],
    [30 * DAY, 3_600],
    [365 * DAY, 43_200],
  ])('shows the last %d s in steps of %d s', (length, step) => {
    expect(chooseStep(NOW - length, NOW, 1_000, NOW)).toBe(step);
  });

  it('uses the finest resolution that is still stored', () => {
    expect(chooseStep(NOW - 7_200, NOW - 7_140, 1_000, NOW)).toBe(10);
    expect(chooseStep(NOW - 3 * DAY, NOW - 3 * DAY + 60, 1_000, NOW)).toBe(300);
  });

  it('prefers fewer points to a truncated chart', () => {
    expect(chooseStep(0, NOW, 10, NOW)).toBe(7 * DAY);
  });
});
