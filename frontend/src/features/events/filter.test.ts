import { describe, expect, it } from 'vitest';
import type { LogEvent } from '@/api/types';
import { filterEvents } from './filter';

const event = (uid: number, part: Partial<LogEvent> = {}) =>
  ({
    uid,
    time_ms: uid * 1000,
    severity: 'INFO',
    source: 'bdb',
    description: `Event ${uid}`,
    ...part,
  }) as LogEvent;

describe('filterEvents', () => {
  const events = [
    event(3, { severity: 'ERROR', bdb_uid: 1 }),
    event(2, { source: 'node' }),
    event(1, { description: 'Database DEMO was created.' }),
  ];
  const uids = (filter: Parameters<typeof filterEvents>[1]) =>
    filterEvents(events, filter).map(({ uid }) => uid);

  it('applies all filters that are set', () => {
    expect(uids({})).toEqual([3, 2, 1]);
    expect(uids({ severity: 'ERROR' })).toEqual([3]);
    expect(uids({ source: 'node' })).toEqual([2]);
    expect(uids({ text: 'demo was' })).toEqual([1]);
    expect(uids({ bdb_uid: 1 })).toEqual([3]);
    expect(uids({ severity: 'ERROR', source: 'node' })).toEqual([]);
    const at = (second: number) => new Date(second * 1000).toISOString();
    expect(uids({ stime: at(2), etime: at(3) })).toEqual([2]);
  });
});
