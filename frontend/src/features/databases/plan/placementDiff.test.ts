import { describe, expect, it } from 'vitest';
import type { BlueprintPair, Shard } from '@/api/types';
import { countsByNode, movedSlots, pairChanges, pairNumbers } from './placementDiff';
import { planText } from './placementDiffText';

const shard = (uid: number, pair: number, on: number, role: 'master' | 'slave', slots: string) =>
  ({ uid: String(uid), pair, node_uid: String(on), role, assigned_slots: slots }) as Shard;

const planned = (slot_range: string, primary: number, ...replicas: number[]): BlueprintPair => ({
  slot_range,
  nodes: [
    { node_uid: String(primary), role: 'master' },
    ...replicas.map((node) => ({ node_uid: String(node), role: 'slave' as const })),
  ],
});

const LOW = '0-8191';
const HIGH = '8192-16383';
const two = [
  shard(1, 0, 1, 'master', LOW),
  shard(3, 0, 2, 'slave', LOW),
  shard(2, 1, 1, 'master', HIGH),
  shard(4, 1, 2, 'slave', HIGH),
];
const lines = (shards: readonly Shard[], blueprint: readonly BlueprintPair[]) =>
  planText(pairChanges(shards, blueprint)).lines.map((line) => line.replaceAll('\u00a0', ' '));

describe('planText', () => {
  it('is empty if nothing changes', () => {
    const same = [planned(LOW, 1, 2), planned(HIGH, 1, 2)];
    expect(planText(pairChanges(two, same))).toEqual({ summary: '', lines: [] });
  });

  it('distinguishes moves from switchovers', () => {
    const blueprint = [planned(LOW, 1, 3), planned(HIGH, 2, 1)];
    expect(lines(two, blueprint)).toEqual([
      'redis:3 moves from node 2 to node 3',
      'redis:4 on node 2 becomes the primary of slots 8192–16383 in place of redis:2 on node 1',
    ]);
    const { summary } = planText(pairChanges(two, blueprint));
    expect(summary.replaceAll('\u00a0', ' ')).toBe(
      '1 primary role is switched, 1 shard moves to another node.',
    );
  });

  it('describes a primary that moves after its replica is promoted', () => {
    expect(lines(two, [planned(LOW, 2, 3), planned(HIGH, 1, 2)])).toEqual([
      'redis:3 on node 2 becomes the primary of slots 0–8191 in place of redis:1 on node 1',
      'redis:1 moves from node 1 to node 3',
    ]);
  });

  it('describes new pairs, and the slots that the others give up', () => {
    const blueprint = [
      planned('0-5461', 1, 2),
      planned('8192-13652', 1, 2),
      planned('5462-8191,13653-16383', 3, 1),
    ];
    expect(lines(two, blueprint)).toEqual([
      'redis:1 gives up 2,730 slots: 8,192 → 5,462',
      'redis:2 gives up 2,731 slots: 8,192 → 5,461',
      'A new primary on node 3, with its replica on node 1, gets 5,461 slots',
    ]);
    expect(movedSlots(pairChanges(two, blueprint))).toBe(5461);
    expect(planText(pairChanges(two, blueprint)).summary.replaceAll('\u00a0', ' ')).toBe(
      '5,461 of 16,384 slots move, 1 primary is added.',
    );
  });

  it('describes pairs that are removed', () => {
    expect(lines(two, [planned('0-16383', 1, 2)])).toEqual([
      'redis:1 gets 8,192 more slots: 8,192 → 16,384',
      'redis:2 on node 1 and redis:4 on node 2 are removed; 8,192 slots move to other primaries',
    ]);
  });

  it('describes replicas that are added or removed', () => {
    expect(lines(two, [planned(LOW, 1), planned(HIGH, 1, 2)])).toEqual([
      'redis:3 on node 2 is removed',
    ]);
    const bare = two.filter(({ role }) => role === 'master');
    expect(lines(bare, [planned(LOW, 1, 3), planned(HIGH, 1)])).toEqual([
      'A replica of redis:1 is added on node 3',
    ]);
  });
});

describe('countsByNode', () => {
  it('counts before and after, with nodes that are new to the database', () => {
    const counts = countsByNode(pairChanges(two, [planned(LOW, 1, 3), planned(HIGH, 2, 1)]));
    expect(counts).toEqual([
      { node: 1, before: { primaries: 2, replicas: 0 }, after: { primaries: 1, replicas: 1 } },
      { node: 2, before: { primaries: 0, replicas: 2 }, after: { primaries: 1, replicas: 0 } },
      { node: 3, before: { primaries: 0, replicas: 0 }, after: { primaries: 0, replicas: 1 } },
    ]);
  });
});

describe('pairNumbers', () => {
  it('removes the highest numbers and fills gaps first', () => {
    expect(pairNumbers([4, 0, 2], 2)).toEqual([0, 2]);
    expect(pairNumbers([0, 2], 4)).toEqual([0, 1, 2, 3]);
  });
});
