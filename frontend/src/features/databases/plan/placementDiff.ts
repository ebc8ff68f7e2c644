/** Comparison of a placement plan with the current placement, by replication pair and by node. Pure functions. */
import { isPrimary } from '@/api/databases/shards';
import type { BlueprintPair, Shard } from '@/api/types';
import { commonSlots, countSlots, parseSlots, type SlotRange } from '@/lib/slots';

export interface PlannedShard {
  node: number;
  primary: boolean;
}

export interface CurrentShard extends PlannedShard {
  name: string;
}

export interface PairChange {
  /** Empty for a new pair. */
  before: readonly CurrentShard[];
  /** Empty for a pair that is removed. */
  after: readonly PlannedShard[];
  slots: { before: SlotRange[]; after: SlotRange[] };
}

export interface NodeCounts {
  node: number;
  before: { primaries: number; replicas: number };
  after: { primaries: number; replicas: number };
}

export function pairChanges(
  shards: readonly Shard[],
  blueprint: readonly BlueprintPair[],
): PairChange[] {
  const current = new Map<number, Shard[]>();
  for (const shard of shards) current.set(shard.pair, [...(current.get(shard.pair) ?? []), shard]);
  const planned = new Map(
    pairNumbers([...current.keys()], blueprint.length).map((pair, index) => [
      pair,
      blueprint[index],
    ]),
  );
  return [...new Set([...current.keys(), ...planned.keys()])]
    .sort((a, b) => a - b)
    .map((pair) => {
      const currentShards = current.get(pair) ?? [];
      const plannedPair = planned.get(pair);
      return {
        before: currentShards.map((shard) => ({
          name: `redis:${shard.uid}`,
          node: Number(shard.node_uid),
          primary: isPrimary(shard),
        })),
        after: (plannedPair?.nodes ?? []).map(({ node_uid, role }) => ({
          node: Number(node_uid),
          primary: role === 'master',
        })),
        slots: {
          before: parseSlots(
            currentShards.find(isPrimary)?.assigned_slots ?? currentShards[0]?.assigned_slots,
          ),
          after: parseSlots(plannedPair?.slot_range),
        },
      };
    });
}

export interface Movement {
  moves: { from: CurrentShard; to: PlannedShard }[];
  added: PlannedShard[];
  removed: CurrentShard[];
}

/** Return the copies of a remaining pair that move, are added or are removed. */
export function movementOf({ before, after }: PairChange): Movement {
  const stays = ({ node }: PlannedShard, shards: readonly PlannedShard[]) =>
    shards.some((shard) => shard.node === node);
  const removed = primariesFirst(before.filter((shard) => !stays(shard, after)));
  const added = primariesFirst(after.filter((shard) => !stays(shard, before)));
  const moves = removed.flatMap((from, index) => {
    const to = added[index];
    return to ? [{ from, to }] : [];
  });
  return { moves, added: added.slice(moves.length), removed: removed.slice(moves.length) };
}

export const primariesFirst = <T extends PlannedShard>(shards: readonly T[]): T[] =>
  [...shards].sort((a, b) => Number(b.primary) - Number(a.primary));

/** Return the pair numbers of a plan with `count` pairs. The highest numbers are removed; new pairs get the lowest free numbers. */
export function pairNumbers(current: readonly number[], count: number): number[] {
  const remaining = [...current].sort((a, b) => a - b).slice(0, count);
  const numbers = new Set(remaining);
  for (let number = 0; numbers.size < count; number++) numbers.add(number);
  return [...numbers].sort((a, b) => a - b);
}

export function movedSlots(changes: readonly PairChange[]): number {
  return changes.reduce(
    (sum, { slots }) => sum + countSlots(slots.after) - commonSlots(slots.before, slots.after),
    0,
  );
}

export function countsByNode(changes: readonly PairChange[]): NodeCounts[] {
  const found = new Map<number, NodeCounts>();
  const count = (shards: readonly PlannedShard[], when: 'before' | 'after') => {
    for (const { node, primary } of shards) {
      const counts = found.get(node) ?? {
        node,
        before: { primaries: 0, replicas: 0 },
        after: { primaries: 0, replicas: 0 },
      };
      counts[when][primary ? 'primaries' : 'replicas'] += 1;
      found.set(node, counts);
    }
  };
  for (const { before, after } of changes) {
    count(before, 'before');
    count(after, 'after');
  }
  return [...found.values()].sort((a, b) => a.node - b.node);
}
