import { describe, expect, it } from 'vitest';
import type { Bdb, UpdateBdb } from '@/api/types';
import { changesShape, changeWords, isTold } from './changeWords';

const bdb = { memory_size: 6 * 2 ** 30, shards_count: 3, replication: true } as Bdb;
const words = (body: UpdateBdb, of: Partial<Bdb> = {}) =>
  changeWords({ ...bdb, ...of }, body).map((line) => line.replaceAll('\u00a0', ' '));

describe('changeWords', () => {
  it('says what becomes of each shard', () => {
    expect(words({ shards_count: 6 })).toEqual(['Each shard may use 512 MiB instead of 1 GiB.']);
    expect(words({ shards_count: 6 }, { memory_size: 0 })).toEqual([]);
  });

  it('says what replication costs and what its end means', () => {
    expect(words({ replication: true }, { replication: false })).toEqual([
      'A replica of each of 3 primaries is made, on another node than its primary.',
      'Each shard may use 1 GiB instead of 2 GiB.',
    ]);
    expect(words({ replication: false })[0]).toBe(
      '3 replicas are removed: nothing takes over when a node is lost.',
    );
  });

  it('says how shards get another number of threads', () => {
    expect(words({ io_threads: 4 })[0]).toMatch(/^Shards of Valkey 9 take .* while they run/);
  });

  it('says where shards go', () => {
    expect(words({ shards_placement: 'dense' })).toEqual([
      'Shards move until they are packed on as few nodes as possible.',
    ]);
  });
});

describe('persistence', () => {
  it('says what it costs, and what its end means', () => {
    expect(words({ data_persistence: 'aof' })[0]).toMatch(/^Each shard writes all its data/);
    expect(words({ data_persistence: 'aof' }, { data_persistence: 'aof' })).toEqual([]);
    expect(words({ data_persistence: 'disabled' })[0]).toMatch(/lost for good/);
    expect(isTold({ data_persistence: 'aof' })).toBe(true);
    expect(isTold({ name: 'x' })).toBe(false);
  });
});

describe('clients', () => {
  it('says who is cut off, and that addresses change', () => {
    expect(words({ tls_mode: 'enabled' })[0]).toMatch(/without TLS are disconnected/);
    expect(words({ tls_mode: 'disabled' })[0]).toMatch(/unencrypted connections only/);
    expect(words({ proxy_policy: 'all-nodes' })[0]).toMatch(/^Addresses of the endpoint/);
    expect(isTold({ tls_mode: 'enabled' })).toBe(true);
    expect(words({ max_connections: 5 })).toEqual([]);
  });
});

describe('changesShape', () => {
  it('leaves names and limits out', () => {
    expect(changesShape({ name: 'x', memory_size: 1 })).toBe(false);
    expect(changesShape({ replication: false })).toBe(true);
  });
});
