import { describe, expect, it } from 'vitest';
import type { BlueprintPair } from '@/api/types';
import { type CreateDraft, EMPTY_DRAFT } from './createDraft';
import { draftSummary, placementText } from './draftSummary';

const pair = (master: number, slave: number): BlueprintPair => ({
  nodes: [
    { node_uid: String(master), role: 'master' },
    { node_uid: String(slave), role: 'slave' },
  ],
  slot_range: '',
});
const summary = (part: Partial<CreateDraft>, blueprint: BlueprintPair[] | null = null) =>
  draftSummary({ ...EMPTY_DRAFT, ...part }, blueprint).map((line) =>
    line.replaceAll('\u00a0', ' '),
  );

describe('draftSummary', () => {
  it('counts shards, nodes and memory', () => {
    const lines = summary({ sharding: true, shards_count: 6, replication: true, memory: 12 }, [
      pair(1, 2),
      pair(2, 1),
      pair(1, 3),
    ]);
    expect(lines[0]).toBe('6 primary shards, each with a replica on another node');
    expect(lines[1]).toBe(
      'Placement: node 1: 2 primaries and 1 replica; node 2: 1 primary and 1 replica; node 3: 1 replica',
    );
    expect(lines[2]).toBe(
      '12 GiB of memory including replicas, 1 GiB per shard; 6 GiB for your data',
    );
    expect(lines[3]).toBe('16,384 hash slots, about 2,730 per primary');
  });

  it('divides the memory of a database on flash', () => {
    const lines = summary({ flash: true, ram_percent: 25, memory: 4, replication: true });
    expect(lines[2]).toBe('On flash: 1 GiB in RAM, 3 GiB on flash, 512 MiB of RAM per shard');
  });

  it('states that there is no limit, and omits an unknown placement', () => {
    expect(summary({ memory: 0 })[1]).toBe('No memory limit');
  });

  it('shows only the number of nodes if there are many', () => {
    const many = Array.from({ length: 8 }, (_, index) => pair(index + 1, ((index + 1) % 8) + 1));
    expect(placementText(many).replaceAll('\u00a0', ' ')).toBe('Placement: 8 nodes');
  });

  it('is empty if the number of shards is invalid', () => {
    expect(summary({ sharding: true, shards_count: '' })).toEqual([]);
  });
});
