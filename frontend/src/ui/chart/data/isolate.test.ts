import { describe, expect, it } from 'vitest';
import { isolate } from './isolate';

describe('isolate', () => {
  it('shows one series, then all again', () => {
    const alone = isolate([], 3, 1, false);
    expect(alone).toEqual([false, true, false]);
    expect(isolate(alone, 3, 1, false)).toEqual([true, true, true]);
    expect(isolate(alone, 3, 2, false)).toEqual([false, false, true]);
  });

  it('adds and removes a series with shift', () => {
    expect(isolate([], 3, 1, true)).toEqual([true, false, true]);
    expect(isolate([false, true, false], 3, 0, true)).toEqual([true, true, false]);
  });
});
