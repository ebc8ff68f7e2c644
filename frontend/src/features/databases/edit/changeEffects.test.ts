import { describe, expect, it } from 'vitest';
import type { Bdb, UpdateBdb } from '@/api/types';
import { changeEffects, changesShards, hasEffects } from './changeEffects';

const bdb = { memory_size: 6 * 2 ** 30, shards_count: 3, replication: true } as Bdb;
const effects = (body: UpdateBdb, of: Partial<Bdb> = {}) =>
  changeEffects({ ...bdb, ...of }, body).map((line) => line.replaceAll('\u00a0', ' '));

describe('changeEffects', () => {
  it('shows the new memory limit of each shard', () => {
    expect(effects({ shards_count: 6 })).toEqual(['Each shard can use 512 MiB instead of 1 GiB.']);
    expect(effects({ shards_count: 6 }, { memory_size: 0 })).toEqual([]);
  });

  it('describes the effects of enabling and disabling replication', () => {
    expect(effects({ replication: true }, { replication: false })).toEqual([
      'A replica of each of 3 primaries is created on another node.',
      'Each shard can use 1 GiB instead of 2 GiB.',
    ]);
    expect(effects({ replication: false })[0]).toBe(
      '3 replicas are removed. After this, no replica can take over if a node fails.',
    );
  });

  it('describes how shards change their number of threads', () => {
    expect(effects({ io_threads: 4 })[0]).toMatch(/^Shards with Valkey 9 apply .* while they run/);
  });

  it('describes the new placement', () => {
    expect(effects({ shards_placement: 'dense' })).toEqual([
      'Shards move until they are on as few nodes as possible.',
    ]);
  });
});

describe('persistence', () => {
  it('describes the effects of enabling and disabling it', () => {
    expect(effects({ data_persistence: 'aof' })[0]).toMatch(/^Each shard writes all its data/);
    expect(effects({ data_persistence: 'aof' }, { data_persistence: 'aof' })).toEqual([]);
    expect(effects({ data_persistence: 'disabled' })[0]).toMatch(/lost permanently/);
    expect(hasEffects({ data_persistence: 'aof' })).toBe(true);
    expect(hasEffects({ name: 'x' })).toBe(false);
  });
});

describe('clients', () => {
  it('describes disconnected clients and changed addresses', () => {
    expect(effects({ tls_mode: 'enabled' })[0]).toMatch(/without TLS are disconnected/);
    expect(effects({ tls_mode: 'disabled' })[0]).toMatch(/unencrypted connections only/);
    expect(effects({ proxy_policy: 'all-nodes' })[0]).toMatch(/^Addresses of the endpoint/);
    expect(hasEffects({ tls_mode: 'enabled' })).toBe(true);
    expect(effects({ max_connections: 5 })).toEqual([]);
  });
});

describe('changesShards', () => {
  it('ignores names and limits', () => {
    expect(changesShards({ name: 'x', memory_size: 1 })).toBe(false);
    expect(changesShards({ replication: false })).toBe(true);
  });
});
