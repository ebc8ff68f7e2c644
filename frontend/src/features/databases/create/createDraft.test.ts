import { describe, expect, it } from 'vitest';
import { changeDraft, EMPTY_DRAFT, splitMemory, toCurl, toRequest } from './createDraft';

describe('changeDraft', () => {
  it('selects sharding, sparse placement and a proxy per node with primaries for the cluster API', () => {
    const next = changeDraft(EMPTY_DRAFT, { oss_cluster: true });
    expect(next).toMatchObject({
      sharding: true,
      shards_placement: 'sparse',
      proxy_policy: 'all-master-shards',
    });
  });

  it('keeps a later selection', () => {
    const next = changeDraft(changeDraft(EMPTY_DRAFT, { oss_cluster: true }), {
      shards_placement: 'dense',
    });
    expect(next.shards_placement).toBe('dense');
    expect(next.oss_cluster).toBe(true);
  });

  it('disables the cluster API with sharding', () => {
    const next = changeDraft(changeDraft(EMPTY_DRAFT, { oss_cluster: true }), { sharding: false });
    expect(next).toMatchObject({ oss_cluster: false, shards_count: 1 });
  });
});

describe('toRequest', () => {
  it('includes the RAM limit of a flash database', () => {
    const body = toRequest({ ...EMPTY_DRAFT, flash: true, memory: 1 });
    expect(body).toMatchObject({ bigstore: true, bigstore_ram_size: 107_374_183 });
    expect(toRequest(EMPTY_DRAFT)).not.toHaveProperty('bigstore');
  });

  it('omits empty fields', () => {
    const body = toRequest({ ...EMPTY_DRAFT, name: 'demo' });
    expect(body).not.toHaveProperty('port');
    expect(body).not.toHaveProperty('io_threads');
    expect(toRequest({ ...EMPTY_DRAFT, io_threads: 4 }).io_threads).toBe(4);
    expect(body).not.toHaveProperty('authentication_redis_pass');
    expect(body).not.toHaveProperty('shard_key_regex');
    expect(body).toMatchObject({
      name: 'demo',
      memory_size: 2 ** 30,
      data_persistence: 'disabled',
    });
  });

  it('omits encryption between nodes unless it was selected', () => {
    expect('data_internode_encryption' in toRequest(EMPTY_DRAFT)).toBe(false);
    const unencrypted = toRequest({ ...EMPTY_DRAFT, between_nodes: 'clear' });
    expect(unencrypted.data_internode_encryption).toBe(false);
    const encrypted = toRequest({ ...EMPTY_DRAFT, between_nodes: 'encrypted' });
    expect(encrypted.data_internode_encryption).toBe(true);
  });

  it('converts durability to persistence fields', () => {
    expect(toRequest({ ...EMPTY_DRAFT, durability: 'aof-always' })).toMatchObject({
      data_persistence: 'aof',
      aof_policy: 'appendfsync-always',
    });
    expect(toRequest({ ...EMPTY_DRAFT, durability: 'snap-6' })).toMatchObject({
      data_persistence: 'snapshot',
      snapshot_policy: [{ secs: 21_600, writes: 1 }],
    });
  });
});

describe('toCurl', () => {
  it('never contains a password', () => {
    const text = toCurl({ ...EMPTY_DRAFT, name: 'demo', password: 'hush-hush' }, 'https://x:9443');
    expect(text).not.toContain('hush-hush');
    expect(text).toContain('<database-password>');
    expect(text).toContain('-u "<user>:<password>"');
    expect(text).toContain('https://x:9443/v1/bdbs');
  });

  it('allows a duplicate name only if the user accepted it', () => {
    const draft = { ...EMPTY_DRAFT, name: 'demo' };
    expect(toCurl(draft, '')).not.toContain('allow_duplicate_name');
    expect(toCurl({ ...draft, accepted_name: 'demo' }, '')).toContain(
      "'/v1/bdbs?allow_duplicate_name=true'",
    );
  });

  it('escapes quotes for the shell', () => {
    const tags = [{ key: "it's", value: '' }];
    expect(toCurl({ ...EMPTY_DRAFT, tags }, '')).toContain("it'\\''s");
  });
});

describe('splitMemory', () => {
  it('picks the largest unit', () => {
    expect(splitMemory(2 ** 31)).toEqual({ memory: 2, memory_unit: 'GiB' });
    expect(splitMemory(100 * 2 ** 20)).toEqual({ memory: 100, memory_unit: 'MiB' });
    expect(splitMemory(0)).toEqual({ memory: 0, memory_unit: 'MiB' });
  });
});
