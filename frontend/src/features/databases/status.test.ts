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
const stateOf = (part: Partial<Bdb> = {}) => {
  const { tone, text } = bdbState(bdb(part));
  return [tone, text.replaceAll('\u00a0', ' ')];
};

describe('bdbState', () => {
  it('is broken if slots are not served', () => {
    expect(stateOf({ shards_down: 3, primaries_down: 2 })).toEqual(['broken', 'Down']);
    expect(stateOf({ shards_down: 2, primaries_down: 1 })).toEqual([
      'broken',
      '1 of 2 primaries down',
    ]);
  });

  it('needs attention if only replicas are down or not in sync', () => {
    expect(stateOf({ shards_down: 1 })).toEqual(['attention', 'Active, 1 replica down']);
    expect(stateOf({ shards_in_sync: 3 })).toEqual(['attention', 'Active, 3 of 4 shards in sync']);
  });

  it('shows that traffic is stopped', () => {
    const stopped = { traffic_manually_disabled: true };
    expect(stateOf(stopped)).toEqual(['attention', 'Traffic stopped']);
    expect(stateOf({ ...stopped, shards_down: 2, primaries_down: 2 })).toEqual(['broken', 'Down']);
  });

  it('needs attention while a change is incomplete', () => {
    const incomplete = { incomplete_changes: ['memory_size'] };
    expect(stateOf(incomplete)).toEqual(['attention', 'Active, a change is incomplete']);
    expect(stateOf({ ...incomplete, primaries_down: 1, shards_down: 1 })[0]).toBe('broken');
    expect(stateOf({ ...incomplete, status: 'active-change-pending', progress: 100 })[1]).toBe(
      'Changing',
    );
  });

  it('shows that the shards differ from the store', () => {
    const differs = { mismatch: 'Agents did not have 2 shards.' };
    expect(stateOf({ ...differs, shards_down: 2, primaries_down: 2 })).toEqual([
      'broken',
      'Shards missing',
    ]);
    expect(stateOf(differs)).toEqual(['attention', 'Active, differs from the store']);
    expect(bdbState(bdb(differs)).title).toBe('Agents did not have 2 shards.');
  });

  it('ignores shards that are expected not to run', () => {
    const creating: Partial<Bdb> = {
      status: 'pending',
      progress: 40,
      shards_down: 4,
      primaries_down: 2,
    };
    expect(stateOf(creating)).toEqual(['progress', 'Creating 40%']);
    expect(stateOf()).toEqual(['ok', 'Active']);
  });
});
