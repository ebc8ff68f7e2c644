import { describe, expect, it } from 'vitest';
import { isDrawable, MAX_WINDOW_S, timeWindowError } from './timeWindow';

const NOW = Date.parse('2026-03-04T10:00:00Z') / 1000;
const at = (text: string) => Date.parse(text) / 1000;

describe('timeWindowError', () => {
  it.each([
    [NOW - 60, NOW, undefined],
    [NOW - 60, NOW + 3_600, undefined],
    [at('2016-03-04T10:00:00Z'), NOW, undefined],
    [NOW, NOW, /before the end/],
    [Number.NaN, NOW, /dates/],
    [NOW, at('+020260-03-04T10:00:00Z'), /future/],
    [at('0202-03-04T10:00:00Z'), NOW, /2000/],
    [NOW - MAX_WINDOW_S - 1, NOW, /ten years/],
  ])('%d to %d: %s', (from, to, expected) => {
    const error = timeWindowError(from, to, NOW);
    if (expected) expect(error).toMatch(expected);
    else expect(error).toBeUndefined();
  });
});

describe('isDrawable', () => {
  it('rejects windows with too many points per line', () => {
    expect(isDrawable(NOW - 900, NOW, 1)).toBe(true);
    expect(isDrawable(NOW - MAX_WINDOW_S, NOW, 1)).toBe(false);
    expect(isDrawable(NOW - MAX_WINDOW_S, NOW, 604_800)).toBe(true);
  });
});
