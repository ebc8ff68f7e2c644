import { describe, expect, it } from 'vitest';
import type { Bdb, Shard } from '@/api/types';
import { bdbState } from './status';

const bdb = (part: Partial<Bdb> = {}) =>
  ({ status: 'active', shards_in_sync: 4, shards_total: 4, ...part }) as Bdb;
const shard = (role: Shard['role'], status = 'active') =>
  ({ role, status, detailed_status: status === 'active' ? 'ok' : 'down' }) as Shard;
const said = (...args: Parameters<typeof bdbState>) => {
  const { tone, text } = bdbState(...args);
  return [tone, text.replaceAll('\u00a0', ' ')];
};

describe('bdbState', () => {
  it('is broken when slots are not served', () => {
    expect(said(bdb(), [shard('master', 'inactive')])).toEqual(['broken', 'Down']);
    expect(said(bdb(), [shard('master', 'inactive'), shard('master')])).toEqual([
      'broken',
      '1 of 2 primaries down',
    ]);
  });

  it('needs a look when only replicas are missing or behind', () => {
    const replicaDown = [shard('master'), shard('slave', 'inactive')];
    expect(said(bdb(), replicaDown)).toEqual(['attention', 'Active, 1 replica down']);
    expect(said(bdb({ shards_in_sync: 3 }))).toEqual([
      'attention',
      'Active, 3 of 4 shards in sync',
    ]);
  });

  it('says nothing of shards that are expected not to run', () => {
    const creating = bdb({ status: 'pending', progress: 40 });
    expect(said(creating, [shard('master', 'inactive')])).toEqual(['progress', 'Creating 40 %']);
    expect(said(bdb(), [shard('master')])).toEqual(['ok', 'Active']);
  });
});
