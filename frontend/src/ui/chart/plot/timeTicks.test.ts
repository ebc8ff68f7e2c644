import { describe, expect, it } from 'vitest';
import { timeLabel } from './timeTicks';

const at = (text: string) => Date.parse(text) / 1000;

describe('timeLabel', () => {
  it.each([
    ['2026-03-01T14:03:07Z', 5, '14:03:07'],
    ['2026-03-01T14:03:00Z', 60, '14:03'],
    ['2026-03-01T00:00:00Z', 3_600, '1\u00a0Mar'],
    ['2026-03-01T12:00:00Z', 86_400, '1\u00a0Mar'],
    ['2026-01-01T00:00:00Z', 86_400, '1\u00a0Jan\u00a02026'],
    ['2026-03-01T00:00:00Z', 30 * 86_400, '1\u00a0Mar\u00a02026'],
  ])('%s with a step of %d s is %s', (time, step, text) => {
    expect(timeLabel(at(time), step, 'utc')).toBe(text);
  });
});
