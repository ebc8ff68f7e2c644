import { describe, expect, it } from 'vitest';
import type { Node } from '@/api/types';
import { type CreateDraft, EMPTY_DRAFT } from './draft';
import { planWords } from './plan';

const nodes = [1, 2, 3].map((uid) => ({ uid }) as Node);
const words = (part: Partial<CreateDraft>, on = nodes) =>
  planWords({ ...EMPTY_DRAFT, ...part }, on).map((line) => line.replaceAll('\u00a0', ' '));

describe('planWords', () => {
  it('counts shards, nodes and memory', () => {
    const lines = words({
      sharding: true,
      shards_count: 6,
      replication: true,
      shards_placement: 'sparse',
      memory: 12,
    });
    expect(lines[0]).toBe('6 primary shards, each with a replica on another node');
    expect(lines[1]).toBe('12 shards spread over node 1, node 2, node 3: 4 on each');
    expect(lines[2]).toBe('12 GiB of memory with replicas, 1 GiB per shard; 6 GiB for your data');
    expect(lines[3]).toBe('16,384 hash slots, about 2,730 per primary');
  });

  it('says when no node can take shards, and when there is no limit', () => {
    expect(words({}, [])[1]).toBe('No node can take shards: add one first');
    expect(words({ memory: 0 })[2]).toBe('No memory limit');
  });

  it('is silent about a number that is none', () => {
    expect(words({ sharding: true, shards_count: '' })).toEqual([]);
  });
});
