/** Placement plan as text. Pure functions. */
import { plural } from '@/lib/format';
import { countSlots, formatSlots, SLOT_COUNT } from '@/lib/slots';
import {
  type CurrentShard,
  movedSlots,
  movementOf,
  type PairChange,
  type PlannedShard,
  primariesFirst,
} from './placementDiff';

export interface PlanText {
  /** Empty if the plan changes nothing. */
  summary: string;
  lines: string[];
}

export function planText(changes: readonly PairChange[]): PlanText {
  const described = changes.map(describePair);
  const lines = described.flatMap((pair) => ORDER.flatMap((kind) => pair[kind]));
  const slots = movedSlots(changes);
  const parts = [
    ...(slots
      ? [`${slots.toLocaleString('en-US')} of ${SLOT_COUNT.toLocaleString('en-US')} slots move`]
      : []),
    ...ORDER.flatMap((kind) => {
      const count = described.reduce((sum, pair) => sum + pair[kind].length, 0);
      return count && kind !== 'slots' ? [SUMMARY[kind](count)] : [];
    }),
  ];
  return { summary: parts.length ? `${parts.join(', ')}.` : '', lines };
}

/** Kinds of changes in the order of their lines. */
const ORDER = [
  'handovers',
  'moves',
  'newPairs',
  'newReplicas',
  'goingPairs',
  'goingReplicas',
  'slots',
] as const;

type Kind = (typeof ORDER)[number];
type PairLines = Record<Kind, string[]>;

const primaries = (count: number) => plural(count, 'primary', 'primaries');

const SUMMARY: Record<Exclude<Kind, 'slots'>, (count: number) => string> = {
  handovers: (count) => `${plural(count, 'primary role')} ${count === 1 ? 'is' : 'are'} switched`,
  moves: (count) => `${plural(count, 'shard')} ${count === 1 ? 'moves' : 'move'} to another node`,
  newPairs: (count) => `${primaries(count)} ${count === 1 ? 'is' : 'are'} added`,
  newReplicas: (count) => `${plural(count, 'replica')} ${count === 1 ? 'is' : 'are'} added`,
  goingPairs: (count) => `${primaries(count)} ${count === 1 ? 'is' : 'are'} removed`,
  goingReplicas: (count) => `${plural(count, 'replica')} ${count === 1 ? 'is' : 'are'} removed`,
};

const NO_LINES: PairLines = {
  handovers: [],
  moves: [],
  newPairs: [],
  newReplicas: [],
  goingPairs: [],
  goingReplicas: [],
  slots: [],
};

function describePair(change: PairChange): PairLines {
  const { before, after } = change;
  if (!before.length) return { ...NO_LINES, newPairs: [newPair(change)] };
  if (!after.length) return { ...NO_LINES, goingPairs: [removedPair(change)] };
  const { moves, added, removed } = movementOf(change);
  const primary = before.find((shard) => shard.primary);
  return {
    ...NO_LINES,
    handovers: switchoverText(change, primary),
    moves: moves.map(({ from, to }) => moveText(from, to)),
    newReplicas: added.map(
      ({ node }) => `A replica of ${(primary ?? before[0])?.name} is added on node ${node}`,
    ),
    goingReplicas: removed.map(({ name, node }) => `${name} on node ${node} is removed`),
    slots: slotText(change, primary),
  };
}

/** Describe the promotion of an existing replica, if the plan has one. */
function switchoverText(
  { before, after, slots }: PairChange,
  primary: CurrentShard | undefined,
): string[] {
  const next = after.find((shard) => shard.primary);
  const promoted = before.find((shard) => shard.node === next?.node && !shard.primary);
  if (!promoted) return [];
  const of = primary ? ` in place of ${primary.name} on node ${primary.node}` : '';
  return [
    `${promoted.name} on node ${promoted.node} becomes the primary of ${slotsOf(slots.before)}${of}`,
  ];
}

function moveText(from: CurrentShard, to: PlannedShard): string {
  const promotion = to.primary && !from.primary ? ' and becomes primary' : '';
  return `${from.name} moves from node ${from.node} to node ${to.node}${promotion}`;
}

function newPair({ after, slots }: PairChange): string {
  const [first, ...others] = primariesFirst(after);
  const replicas = others.map(({ node }) => `node ${node}`).join(', ');
  const where = `node ${first?.node}${replicas ? `, with its replica on ${replicas},` : ''}`;
  return `A new primary on ${where} gets ${plural(countSlots(slots.after), 'slot')}`;
}

function removedPair({ before, slots }: PairChange): string {
  const names = primariesFirst(before).map(({ name, node }) => `${name} on node ${node}`);
  const count = plural(countSlots(slots.before), 'slot');
  return `${names.join(' and ')} ${names.length === 1 ? 'is' : 'are'} removed; ${count} move to other primaries`;
}

function slotText({ slots }: PairChange, primary: CurrentShard | undefined): string[] {
  const [before, after] = [countSlots(slots.before), countSlots(slots.after)];
  if (before === after || !primary) return [];
  const difference = Math.abs(after - before);
  const effect =
    after < before
      ? `gives up ${plural(difference, 'slot')}`
      : `gets ${plural(difference, 'more slot')}`;
  return [
    `${primary.name} ${effect}: ${before.toLocaleString('en-US')} → ${after.toLocaleString('en-US')}`,
  ];
}

/** Return the slot ranges, or the number of slots if there are more than three ranges. */
function slotsOf(ranges: PairChange['slots']['before']): string {
  return ranges.length > 3 ? plural(countSlots(ranges), 'slot') : `slots ${formatSlots(ranges)}`;
}
