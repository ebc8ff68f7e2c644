import { describe, expect, it } from 'vitest';
import type { Bdb } from '@/api/types';
import { bdbState } from './status';

const bdb = (part: Partial<Bdb> = {}) =>
  ({
    status: 'active',
    shards_count: 2,
    shards_in_sync: 4,
    shards_total: 4,
    shards_down: 0,
    primaries_down: 0,
    ...part,
  }) as Bdb;
const said = (part: Partial<Bdb> = {}) => {
  const { tone, text } = bdbState(bdb(part));
  return [tone, text.replaceAll('\u00a0', ' ')];
};

describe('bdbState', () => {
  it('is broken when slots are not served', () => {
    expect(said({ shards_down: 3, primaries_down: 2 })).toEqual(['broken', 'Down']);
    expect(said({ shards_down: 2, primaries_down: 1 })).toEqual([
      'broken',
      '1 of 2 primaries down',
    ]);
  });

  it('needs a look when only replicas are missing or behind', () => {
    expect(said({ shards_down: 1 })).toEqual(['attention', 'Active, 1 replica down']);
    expect(said({ shards_in_sync: 3 })).toEqual(['attention', 'Active, 3 of 4 shards in sync']);
  });

  it('says that clients are kept out on purpose', () => {
    const stopped = { traffic_manually_disabled: true };
    expect(said(stopped)).toEqual(['attention', 'Traffic stopped']);
    expect(said({ ...stopped, shards_down: 2, primaries_down: 2 })).toEqual(['broken', 'Down']);
  });

  it('is not well while a change is incomplete', () => {
    const left = { incomplete_changes: ['memory_size'] };
    expect(said(left)).toEqual(['attention', 'Active, a change is incomplete']);
    expect(said({ ...left, primaries_down: 1, shards_down: 1 })[0]).toBe('broken');
    expect(said({ ...left, status: 'active-change-pending', progress: 100 })[1]).toBe('Changing');
  });

  it('says nothing of shards that are expected not to run', () => {
    const creating: Partial<Bdb> = {
      status: 'pending',
      progress: 40,
      shards_down: 4,
      primaries_down: 2,
    };
    expect(said(creating)).toEqual(['progress', 'Creating 40 %']);
    expect(said()).toEqual(['ok', 'Active']);
  });
});
