/** Which shard sits where: nodes as columns, primary and replica as pairs, what moves, and what is wrong. Pure. */
import type { ShardMove } from '@/api/actions';
import { isPrimary, isShardDown, isShardStarting } from '@/api/shards';
import { phaseWord, type Resync } from '@/api/story';
import type { Node, Shard } from '@/api/types';
import { parseSlots, type Segment, type SlotRange, segments, showSlots } from '@/lib/slots';

export interface Cell {
  shard: Shard;
  role: 'primary' | 'replica';
  node: number;
  /** Sentences; an empty list means all is well. */
  warnings: string[];
  severity: 'ok' | 'attention' | 'broken';
  /** The resync that fills it now. */
  resync: { phase: string; percent: number } | null;
  /** The node that it leaves for; 0 when it only goes. */
  leavesTo: number | null;
}

/** A shard that comes and is not there yet. */
export interface Ghost {
  uid: string;
  node: number;
}

export interface Pair {
  id: number;
  slots: SlotRange[];
  label: string;
  cells: Cell[];
  ghosts: Ghost[];
  /** From and to, as column indexes, of what moves. */
  moves: { from: number; to: number }[];
  /** Column indexes of the outermost cells; equal when there is nothing to join. */
  first: number;
  last: number;
}

export interface Placement {
  nodes: Column[];
  pairs: Pair[];
  slots: Segment<{ pair: Pair; cell: Cell }>[];
  warnings: Warning[];
}

export interface Warning {
  tone: 'attention' | 'broken';
  text: string;
}

const roleOf = (shard: Shard): Cell['role'] => (isPrimary(shard) ? 'primary' : 'replica');

/** What is shown of a node. */
export type Column = Pick<Node, 'uid' | 'addr' | 'status' | 'agent_status'> &
  Partial<Pick<Node, 'total_memory' | 'in_maintenance' | 'unavailable_since'>>;

/** Nodes that hold a shard, and those that could. */
function columns(nodes: readonly Node[], shards: readonly Shard[]): Column[] {
  const known = new Map<number, Column>(nodes.map((node) => [node.uid, node]));
  for (const { node_uid } of shards) {
    const uid = Number(node_uid);
    if (!known.has(uid)) known.set(uid, { uid, addr: '', status: 'down', agent_status: 'lost' });
  }
  return [...known.values()].sort((a, b) => a.uid - b.uid);
}

type Resyncs = ReadonlyMap<string, Resync>;

interface Around {
  column: ReadonlyMap<number, number>;
  nodes: readonly Column[];
  resyncs: Resyncs;
  moves: readonly ShardMove[];
}

export function placement(
  nodes: readonly Node[],
  shards: readonly Shard[],
  resyncs: Resyncs = new Map(),
  moves: readonly ShardMove[] = [],
): Placement {
  const shownNodes = columns(nodes, shards);
  const column = new Map(shownNodes.map((node, index) => [node.uid, index]));
  const groups = new Map<string, Shard[]>();
  for (const shard of shards) {
    const key = String(shard.pair ?? shard.assigned_slots);
    groups.set(key, [...(groups.get(key) ?? []), shard]);
  }
  const pairs = [...groups.values()]
    .map((group, index) => makePair(group, index, { column, nodes: shownNodes, resyncs, moves }))
    .sort((a, b) => (a.slots[0]?.from ?? 0) - (b.slots[0]?.from ?? 0) || a.id - b.id);
  const owners = pairs.flatMap((pair) => {
    const cell = pair.cells.find(({ role }) => role === 'primary');
    return cell ? [{ owner: { pair, cell }, ranges: pair.slots }] : [];
  });
  return {
    nodes: shownNodes,
    pairs,
    slots: segments(owners),
    warnings: summarise(pairs),
  };
}

function makePair(group: readonly Shard[], index: number, around: Around): Pair {
  const { column } = around;
  const primary = group.find((shard) => roleOf(shard) === 'primary');
  const slots = parseSlots((primary ?? group[0])?.assigned_slots);
  const cells = group
    .map((shard) => makeCell(shard, group, around))
    .sort((a, b) => a.role.localeCompare(b.role) || Number(a.shard.uid) - Number(b.shard.uid));
  const places = cells.map((cell) => column.get(cell.node) ?? 0);
  const id = group[0]?.pair ?? index;
  const moves = around.moves.filter(({ pair }) => pair === id);
  return {
    id,
    slots,
    label: showSlots(slots),
    cells,
    ghosts: moves.flatMap(({ newcomer_uid: uid, to_node_uid: node }) =>
      uid === undefined || node === undefined || group.some((shard) => shard.uid === uid)
        ? []
        : [{ uid, node }],
    ),
    moves: moves.flatMap(({ shard_uid, to_node_uid }) => {
      const leaves = cells.find(({ shard }) => shard.uid === shard_uid);
      const from = leaves && column.get(leaves.node);
      const to = to_node_uid === undefined ? undefined : column.get(to_node_uid);
      return from === undefined || to === undefined ? [] : [{ from, to }];
    }),
    first: Math.min(...places),
    last: Math.max(...places),
  };
}

function makeCell(shard: Shard, group: readonly Shard[], { nodes, resyncs, moves }: Around): Cell {
  const resync = resyncs.get(shard.uid);
  const move = moves.find(({ shard_uid }) => shard_uid === shard.uid);
  const role = roleOf(shard);
  const broken: string[] = [];
  const attention: string[] = [];
  const node = nodes.find(({ uid }) => uid === Number(shard.node_uid));
  if (isShardDown(shard)) {
    broken.push(shard.detail || 'Down');
  } else if (node?.status === 'down') {
    broken.push(`Node ${node.uid} is down`);
  } else if (node?.agent_status === 'lost') {
    attention.push(
      `The agent of node ${node.uid} does not answer, so this is the last known state`,
    );
  } else if (isShardStarting(shard)) attention.push('Starting');
  else if (shard.detailed_status === 'loading') attention.push('Loading its data');
  else if (shard.detailed_status !== 'ok')
    attention.push(shard.detail || `State ${shard.detailed_status}`);
  if (role === 'replica' && resync) {
    const { primary, phase, percent } = resync;
    attention.push(`Resyncs from redis:${primary}: ${phaseWord(phase)}, ${Math.floor(percent)} %`);
  } else if (role === 'replica' && shard.sync?.status === 'link_down') {
    attention.push('Link to its primary is down');
  } else if (role === 'replica' && shard.sync?.status === 'in_progress') {
    attention.push('Copying from its primary');
  }
  const twin = group.find(
    (other) => other !== shard && other.node_uid === shard.node_uid && roleOf(other) !== role,
  );
  if (twin) attention.push(`Primary and replica are both on node ${shard.node_uid}`);
  return {
    shard,
    role,
    node: Number(shard.node_uid),
    warnings: [...broken, ...attention],
    severity: broken.length ? 'broken' : attention.length ? 'attention' : 'ok',
    resync: resync ? { phase: phaseWord(resync.phase), percent: resync.percent } : null,
    leavesTo: move ? (move.to_node_uid ?? 0) : null,
  };
}

function summarise(pairs: readonly Pair[]): Warning[] {
  const together = pairs.filter(({ cells }) =>
    cells.some((cell) => cell.warnings.some((text) => text.startsWith('Primary and replica'))),
  ).length;
  const down = pairs.flatMap(({ cells }) => cells.filter(({ severity }) => severity === 'broken'));
  const orphans = pairs.filter(({ cells }) => !cells.some(({ role }) => role === 'primary')).length;
  const primaryDown = down.some(({ role }) => role === 'primary');
  const say = (
    count: number,
    one: string,
    many: string,
    tone: Warning['tone'] = 'attention',
  ): Warning[] =>
    count ? [{ tone, text: count === 1 ? one : many.replace('#', String(count)) }] : [];
  return [
    ...say(
      down.length,
      'One shard is down.',
      '# shards are down.',
      primaryDown ? 'broken' : 'attention',
    ),
    ...say(
      together,
      'One primary shares its node with its replica: losing that node loses both.',
      '# primaries share their node with their replica: losing it loses both.',
    ),
    ...say(orphans, 'One slot range has no primary.', '# slot ranges have no primary.', 'broken'),
  ];
}
