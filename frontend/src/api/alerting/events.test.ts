import { describe, expect, it } from 'vitest';
import type { LogEvent } from '@/api/types';
import { mergeEvents } from './events';

const event = (uid: number, part: Partial<LogEvent> = {}) =>
  ({ uid, time_ms: uid * 1000, ...part }) as LogEvent;

describe('mergeEvents', () => {
  it('sorts by start time, regardless of the order of arrival', () => {
    const late = event(4, { time_ms: 1_500 });
    expect(mergeEvents([late, event(2), event(1)]).map(({ uid }) => uid)).toEqual([2, 4, 1]);
  });

  it('removes duplicates and puts the newest event first', () => {
    const merged = mergeEvents([event(2), event(1)], [event(3), event(2)]);
    expect(merged.map(({ uid }) => uid)).toEqual([3, 2, 1]);
  });
});
