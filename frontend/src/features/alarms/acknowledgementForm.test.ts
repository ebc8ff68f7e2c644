import { describe, expect, it } from 'vitest';
import { isAcknowledged } from '@/api/alerting/acknowledgements';
import type { LogEvent } from '@/api/types';
import { toAcknowledgement } from './acknowledgementForm';

describe('toAcknowledgement', () => {
  it('omits the expiry and the assignee if they are the defaults', () => {
    expect(toAcknowledgement({ note: ' disk ordered ', minutes: '', assignedTo: ' ' })).toEqual({
      note: 'disk ordered',
    });
    expect(toAcknowledgement({ note: '', minutes: '60', assignedTo: 'bob' })).toEqual({
      note: '',
      minutes: 60,
      assigned_to: 'bob',
    });
  });

  it('refuses a note that is too long', () => {
    const note = 'x'.repeat(501);
    expect(toAcknowledgement({ note, minutes: '', assignedTo: '' })).toBeUndefined();
  });
});

describe('isAcknowledged', () => {
  const alarm = (until_ms?: number) => ({ acknowledgement: { until_ms } }) as LogEvent;
  it('is false without an acknowledgement and after its expiry', () => {
    expect(isAcknowledged({} as LogEvent, 5)).toBe(false);
    expect(isAcknowledged(alarm(), 5)).toBe(true);
    expect(isAcknowledged(alarm(6), 5)).toBe(true);
    expect(isAcknowledged(alarm(5), 5)).toBe(false);
  });
});
