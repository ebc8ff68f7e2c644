import { describe, expect, it } from 'vitest';
import type { Bdb } from '@/api/types';
import { discardFields, emptyEdit, keepEditedFields, editFields as touched } from '@/lib/edits';
import {
  type BdbEdit,
  conflictsOf,
  type Editable,
  editableFields,
  updateRequest,
} from './databaseEdit';

const NOTHING = emptyEdit<Editable>();
const touch = (edit: BdbEdit, part: Partial<Editable>, now: Bdb) =>
  touched(edit, part, editableFields(now));

const bdb = (part: Partial<Bdb> = {}) =>
  ({
    uid: 1,
    name: 'orders',
    memory_size: 1_000_000_123,
    eviction_policy: 'volatile-lru',
    shards_count: 3,
    replication: true,
    shards_placement: 'dense',
    data_persistence: 'disabled',
    tags: [],
    ...part,
  }) as Bdb;

describe('an edit', () => {
  it('sends only edited fields, even if others change at the same time', () => {
    const edit = touch(NOTHING, { name: 'sales' }, bdb());
    const now = bdb({ shards_count: 5, memory_size: 7 << 20 });
    expect(updateRequest(edit, now)).toEqual({ name: 'sales' });
    expect(conflictsOf(edit, now)).toEqual([]);
  });

  it('converts the RAM percentage to bytes of the memory limit', () => {
    const onFlash = bdb({ bigstore: true, memory_size: 1000, bigstore_ram_size: 100 });
    const edit = touch(NOTHING, { ram_percent: 25 }, onFlash);
    expect(updateRequest(edit, onFlash)).toEqual({ bigstore_ram_size: 250 });
  });

  it('sends the number of threads, and 0 if the console chooses', () => {
    const now = bdb({ io_threads: 2 });
    expect(updateRequest(touch(NOTHING, { io_threads: 4 }, now), now)).toEqual({ io_threads: 4 });
    expect(updateRequest(touch(NOTHING, { io_threads: '' }, now), now)).toEqual({ io_threads: 0 });
  });

  it('sends client settings, and 0 for the default limit', () => {
    const now = bdb({ proxy_policy: 'single', tls_mode: 'disabled', max_connections: 50 });
    const clients = { proxy_policy: 'all-nodes', tls_mode: 'enabled', slave_ha: true } as const;
    const edit = touch(NOTHING, { ...clients, max_connections: '', maxclients: 20_000 }, now);
    expect(updateRequest(edit, now)).toEqual({
      ...clients,
      max_connections: 0,
      maxclients: 20_000,
    });
    const both = bdb({ ...now, proxy_policy: 'all-master-shards' });
    expect(conflictsOf(edit, both)).toEqual([
      {
        label: 'Database proxy',
        before: 'One proxy',
        now: 'One on every node with primaries',
        edited: 'One on every node',
      },
    ]);
  });

  it('sends persistence as API fields', () => {
    const hourly = bdb({
      data_persistence: 'snapshot',
      snapshot_policy: [{ secs: 3600, writes: 1 }],
    });
    const edit = touch(NOTHING, { durability: 'aof-second' }, hourly);
    expect(updateRequest(edit, hourly)).toEqual({
      data_persistence: 'aof',
      aof_policy: 'appendfsync-every-sec',
    });
    expect(updateRequest(touch(edit, { durability: 'snap-1' }, hourly), hourly)).toEqual({});
    const custom = bdb({ data_persistence: 'snapshot', snapshot_policy: [{ secs: 7, writes: 2 }] });
    expect(updateRequest(touch(NOTHING, { durability: '' }, custom), custom)).toEqual({});
    expect(conflictsOf(edit, custom)).toEqual([
      {
        label: 'Persistence',
        before: 'Snapshot every hour',
        now: 'Custom snapshot rules',
        edited: 'Append-only file, written every second',
      },
    ]);
  });

  it('sends neither restored values nor an unedited limit', () => {
    const changed = touch(NOTHING, { shards_count: 5 }, bdb());
    expect(updateRequest(changed, bdb())).toEqual({ shards_count: 5 });
    expect(updateRequest(touch(changed, { shards_count: 3 }, bdb()), bdb())).toEqual({});
  });

  it('reports conflicts until the user resolves them', () => {
    const edit = touch(NOTHING, { shards_count: 4 }, bdb());
    const now = bdb({ shards_count: 6 });
    expect(conflictsOf(edit, now)).toEqual([
      { label: 'Number of shards', before: '3', now: '6', edited: '4' },
    ]);
    const mine = keepEditedFields(edit, ['shards_count'], editableFields(now));
    expect(conflictsOf(mine, now)).toEqual([]);
    expect(updateRequest(mine, now)).toEqual({ shards_count: 4 });
    expect(updateRequest(discardFields(edit, ['shards_count']), now)).toEqual({});
    expect(conflictsOf(edit, bdb({ shards_count: 4 }))).toEqual([]);
  });
});
