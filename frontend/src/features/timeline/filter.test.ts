import { describe, expect, it } from 'vitest';
import { filterTimelineEvents } from './filter';
import { OUTAGE_EVENTS } from './outageEvents.fixture';

const HOMES = { 2: 2, 5: 2, 7: 2, 10: 2, 8: 1, 11: 3 } as const;

describe('filterTimelineEvents', () => {
  const uids = (filter: Parameters<typeof filterTimelineEvents>[1]) =>
    filterTimelineEvents(
      OUTAGE_EVENTS,
      filter,
      (shard) => HOMES[Number(shard) as keyof typeof HOMES],
    ).map(({ uid }) => uid);

  it('applies all filters that are set', () => {
    expect(uids({ severity: 'WARNING' })).toEqual([10, 11, 12, 21]);
    expect(uids({ kind: 'failovers' })).toEqual([11, 12]);
    expect(uids({ bdb: 2 })).toEqual([9, 10, 13, 20, 21]);
    expect(uids({ node: 1 })).toEqual([11]);
    expect(uids({ node: 1, kind: 'resyncs' })).toEqual([]);
  });
});
