/** A plan of the console as sentences that a person can agree to. Pure. */
import { plural } from '@/lib/format';
import { countSlots, SLOT_COUNT, showSlots } from '@/lib/slots';
import {
  type HeldSeat,
  movedSlots,
  movementOf,
  type PairChange,
  primariesFirst,
  type Seat,
} from './blueprint';

export interface PlanText {
  /** Empty when nothing is to be done. */
  summary: string;
  lines: string[];
}

export function planText(changes: readonly PairChange[]): PlanText {
  const told = changes.map(tellPair);
  const lines = told.flatMap((one) => ORDER.flatMap((kind) => one[kind]));
  const slots = movedSlots(changes);
  const parts = [
    ...(slots
      ? [`${slots.toLocaleString('en-US')} of ${SLOT_COUNT.toLocaleString('en-US')} slots move`]
      : []),
    ...ORDER.flatMap((kind) => {
      const count = told.reduce((sum, one) => sum + one[kind].length, 0);
      return count && kind !== 'slots' ? [SUMMARY[kind](count)] : [];
    }),
  ];
  return { summary: parts.length ? `${parts.join(', ')}.` : '', lines };
}

/** In the order in which they are told. */
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
type Told = Record<Kind, string[]>;

const primaries = (count: number) => plural(count, 'primary', 'primaries');

const SUMMARY: Record<Exclude<Kind, 'slots'>, (count: number) => string> = {
  handovers: (count) => `${primaries(count)} ${count === 1 ? 'hands' : 'hand'} over`,
  moves: (count) => `${plural(count, 'shard')} ${count === 1 ? 'moves' : 'move'} to another node`,
  newPairs: (count) => `${primaries(count)} ${count === 1 ? 'is' : 'are'} added`,
  newReplicas: (count) => `${plural(count, 'replica')} ${count === 1 ? 'is' : 'are'} added`,
  goingPairs: (count) => `${primaries(count)} ${count === 1 ? 'goes' : 'go'}`,
  goingReplicas: (count) => `${plural(count, 'replica')} ${count === 1 ? 'goes' : 'go'}`,
};

const NOTHING: Told = {
  handovers: [],
  moves: [],
  newPairs: [],
  newReplicas: [],
  goingPairs: [],
  goingReplicas: [],
  slots: [],
};

function tellPair(change: PairChange): Told {
  const { before, after } = change;
  if (!before.length) return { ...NOTHING, newPairs: [newPair(change)] };
  if (!after.length) return { ...NOTHING, goingPairs: [goingPair(change)] };
  const { moves, arriving, going } = movementOf(change);
  const lead = before.find(({ primary }) => primary);
  return {
    ...NOTHING,
    handovers: handover(change, lead),
    moves: moves.map(({ from, to }) => moveWords(from, to)),
    newReplicas: arriving.map(
      ({ node }) => `A replica of ${(lead ?? before[0])?.name} comes to node ${node}`,
    ),
    goingReplicas: going.map(({ name, node }) => `${name} on node ${node} goes`),
    slots: slotWords(change, lead),
  };
}

/** Who leads afterwards is there already. */
function handover({ before, after, slots }: PairChange, lead: HeldSeat | undefined): string[] {
  const next = after.find(({ primary }) => primary);
  const promoted = before.find(({ node, primary }) => node === next?.node && !primary);
  if (!promoted) return [];
  const of = lead ? ` in place of ${lead.name} on node ${lead.node}` : '';
  return [
    `${promoted.name} on node ${promoted.node} becomes the primary of ${slotsOf(slots.before)}${of}`,
  ];
}

function moveWords(from: HeldSeat, to: Seat): string {
  const lead = to.primary && !from.primary ? ' and becomes primary' : '';
  return `${from.name} moves from node ${from.node} to node ${to.node}${lead}`;
}

function newPair({ after, slots }: PairChange): string {
  const [first, ...others] = primariesFirst(after);
  const replicas = others.map(({ node }) => `node ${node}`).join(', ');
  const where = `node ${first?.node}${replicas ? `, with its replica on ${replicas}` : ''}`;
  return `A new primary on ${where} gets ${plural(countSlots(slots.after), 'slot')}`;
}

function goingPair({ before, slots }: PairChange): string {
  const names = primariesFirst(before).map(({ name, node }) => `${name} on node ${node}`);
  const count = plural(countSlots(slots.before), 'slot');
  return `${names.join(' and ')} ${names.length === 1 ? 'goes' : 'go'}; ${count} move to the others`;
}

function slotWords({ slots }: PairChange, lead: HeldSeat | undefined): string[] {
  const [before, after] = [countSlots(slots.before), countSlots(slots.after)];
  if (before === after || !lead) return [];
  const verb = after < before ? 'gives away' : 'gets';
  const difference = Math.abs(after - before);
  return [
    `${lead.name} ${verb} ${plural(difference, 'slot')}${after < before ? '' : ' more'}: ${before.toLocaleString('en-US')} → ${after.toLocaleString('en-US')}`,
  ];
}

/** Long lists of ranges are counted. */
function slotsOf(ranges: PairChange['slots']['before']): string {
  return ranges.length > 3 ? plural(countSlots(ranges), 'slot') : `slots ${showSlots(ranges)}`;
}
