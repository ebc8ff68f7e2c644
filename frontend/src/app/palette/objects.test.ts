import { describe, expect, it } from 'vitest';
import type { LogEvent } from '@/api/types';
import { eventEntries } from './objects';

describe('eventEntries', () => {
  it('links to the time of an event, and to all matching events', () => {
    const event = { uid: 9, time_ms: 1_772_337_787_400, description: 'Node 2 went down.' };
    const [first, all] = eventEntries('down', [event as LogEvent], 'utc');
    expect([first?.name, first?.detail]).toEqual(['Node 2 went down.', '2026-03-01 04:03:07 UTC']);
    expect(first?.target).toEqual({
      link: {
        to: '/activity/timeline',
        search: { from: 1_772_337_637, to: 1_772_337_937, res: undefined, event: '9' },
      },
    });
    expect(all?.target).toEqual({
      link: { to: '/activity/events', search: { span: 'all', text: 'down' } },
    });
    expect(eventEntries('down', [], 'utc')).toEqual([]);
  });
});
