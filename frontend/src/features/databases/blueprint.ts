/** A plan of the console beside what there is: pair by pair, and counted by node. Pure. */
import { isPrimary } from '@/api/shards';
import type { BlueprintPair, Shard } from '@/api/types';
import { commonSlots, countSlots, parseSlots, type SlotRange } from '@/lib/slots';

export interface Seat {
  node: number;
  primary: boolean;
}

export interface HeldSeat extends Seat {
  name: string;
}

export interface PairChange {
  /** Empty for a pair that is new. */
  before: readonly HeldSeat[];
  /** Empty for a pair that goes. */
  after: readonly Seat[];
  slots: { before: SlotRange[]; after: SlotRange[] };
}

export interface NodeCounts {
  node: number;
  before: { primaries: number; replicas: number };
  after: { primaries: number; replicas: number };
}

export function changesOf(
  shards: readonly Shard[],
  blueprint: readonly BlueprintPair[],
): PairChange[] {
  const held = new Map<number, Shard[]>();
  for (const shard of shards) held.set(shard.pair, [...(held.get(shard.pair) ?? []), shard]);
  const planned = new Map(
    pairNumbers([...held.keys()], blueprint.length).map((pair, index) => [pair, blueprint[index]]),
  );
  return [...new Set([...held.keys(), ...planned.keys()])]
    .sort((a, b) => a - b)
    .map((pair) => {
      const now = held.get(pair) ?? [];
      const then = planned.get(pair);
      return {
        before: now.map((shard) => ({
          name: `redis:${shard.uid}`,
          node: Number(shard.node_uid),
          primary: isPrimary(shard),
        })),
        after: (then?.nodes ?? []).map(({ node_uid, role }) => ({
          node: Number(node_uid),
          primary: role === 'master',
        })),
        slots: {
          before: parseSlots(now.find(isPrimary)?.assigned_slots ?? now[0]?.assigned_slots),
          after: parseSlots(then?.slot_range),
        },
      };
    });
}

export interface Movement {
  moves: { from: HeldSeat; to: Seat }[];
  arriving: Seat[];
  going: HeldSeat[];
}

/** Of a pair that stays one: which copy moves where, which come and which go. */
export function movementOf({ before, after }: PairChange): Movement {
  const stays = ({ node }: Seat, seats: readonly Seat[]) =>
    seats.some((seat) => seat.node === node);
  const leaving = primariesFirst(before.filter((seat) => !stays(seat, after)));
  const arriving = primariesFirst(after.filter((seat) => !stays(seat, before)));
  const moves = leaving.flatMap((from, index) => {
    const to = arriving[index];
    return to ? [{ from, to }] : [];
  });
  return { moves, arriving: arriving.slice(moves.length), going: leaving.slice(moves.length) };
}

export const primariesFirst = <T extends Seat>(seats: readonly T[]): T[] =>
  [...seats].sort((a, b) => Number(b.primary) - Number(a.primary));

/** A plan lists pairs by number: the highest go, and new ones take the lowest numbers that are free. */
export function pairNumbers(held: readonly number[], count: number): number[] {
  const staying = [...held].sort((a, b) => a - b).slice(0, count);
  const taken = new Set(staying);
  for (let number = 0; taken.size < count; number++) taken.add(number);
  return [...taken].sort((a, b) => a - b);
}

export function movedSlots(changes: readonly PairChange[]): number {
  return changes.reduce(
    (sum, { slots }) => sum + countSlots(slots.after) - commonSlots(slots.before, slots.after),
    0,
  );
}

export function countsByNode(changes: readonly PairChange[]): NodeCounts[] {
  const found = new Map<number, NodeCounts>();
  const count = (seats: readonly Seat[], when: 'before' | 'after') => {
    for (const { node, primary } of seats) {
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
