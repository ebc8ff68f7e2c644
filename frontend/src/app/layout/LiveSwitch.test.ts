import { describe, expect, it } from 'vitest';
import { stateOf } from './LiveSwitch';

const LOST = { phase: 'lost', since: 0, attempt: 2, retryAt: 0 } as const;

describe('live switch', () => {
  it('is green only while samples are current', () => {
    expect(stateOf({ phase: 'live' }, 'fresh')).toEqual({ tone: 'ok', label: 'Live' });
    expect(stateOf({ phase: 'live' }, 'fresh', 'a chart')).toEqual({
      tone: 'attention',
      label: 'Partly live',
    });
    expect(stateOf({ phase: 'live' }, 'late').tone).toBe('attention');
    expect(stateOf({ phase: 'live' }, 'partial')).toEqual({ tone: 'attention', label: 'Partial' });
    expect(stateOf({ phase: 'live' }, 'waiting').tone).toBe('unknown');
    expect(stateOf({ ...LOST, attempt: 1 }, 'lost').tone).toBe('attention');
    expect(stateOf(LOST, 'lost')).toEqual({ tone: 'broken', label: 'Lost' });
  });
});
