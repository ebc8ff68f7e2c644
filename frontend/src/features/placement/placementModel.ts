/** Placement model: nodes as columns, primary and replica as replication pairs, moves and warnings. Pure functions. */
import type { ShardMove } from '@/api/cluster/actions';
import { isPrimary, isShardDown, isShardStarting } from '@/api/databases/shards';
import { phaseLabel, type Resync } from '@/api/failures/eventSpans';
import type { Node, Shard } from '@/api/types';
import { formatSlots, parseSlots, type Segment, type SlotRange, segments } from '@/lib/slots';

export interface Cell {
  shard: Shard;
  role: 'primary' | 'replica';
  node: number;
  /** Warning texts; empty if nothing is wrong. */
  warnings: string[];
  severity: 'ok' | 'attention' | 'broken';
  /** The resync that is running, if any. */
  resync: { phase: string; percent: number } | null;
  /** Target node of its move; 0 if it is removed; null if it stays. */
  movesTo: number | null;
}

/** A planned shard that does not exist yet. */
export interface PlannedCell {
  uid: string;
  node: number;
}

export interface ReplicationPair {
  id: number;
  slots: SlotRange[];
  label: string;
  cells: Cell[];
  plannedCells: PlannedCell[];
  /** Moves between nodes, as column indexes. */
  moves: { from: number; to: number }[];
  /** Column indexes of the outermost cells; equal if all cells are in one column. */
  first: number;
  last: number;
}

/** Adjacent columns of the nodes in one zone. */
export interface ZoneColumns {
  /** Empty for nodes without a zone. */
  zone: string;
  /** Index of the first column. */
  first: number;
  count: number;
}

export interface PlacementModel {
  nodes: NodeColumn[];
  /** Empty if no node has a zone. */
  zones: ZoneColumns[];
  pairs: ReplicationPair[];
  slots: Segment<{ pair: ReplicationPair; cell: Cell }>[];
  warnings: Warning[];
}

export interface Warning {
  tone: 'attention' | 'broken';
  text: string;
}

const roleOf = (shard: Shard): Cell['role'] => (isPrimary(shard) ? 'primary' : 'replica');

/** The fields of a node that its column shows. */
export type NodeColumn = Pick<Node, 'uid' | 'addr' | 'status' | 'agent_status'> &
  Partial<
    Pick<
      Node,
      | 'total_memory'
      | 'in_maintenance'
      | 'unavailable_since'
      | 'rack_id'
      | 'second_rack_id'
      | 'cpu_pinning_state'
    >
  >;

const zoneOf = (node: NodeColumn | undefined): string => node?.rack_id?.toLowerCase() ?? '';

/** Compare by zone, nodes without a zone last, then by uid. */
function byZone(a: NodeColumn, b: NodeColumn): number {
  const [first, second] = [zoneOf(a), zoneOf(b)];
  if (first === second) return a.uid - b.uid;
  if (!first || !second) return first ? -1 : 1;
  return first.localeCompare(second);
}

function zoneColumns(nodes: readonly NodeColumn[]): ZoneColumns[] {
  if (!nodes.some(zoneOf)) return [];
  const zones: ZoneColumns[] = [];
  nodes.forEach((node, index) => {
    const last = zones.at(-1);
    if (last && last.zone.toLowerCase() === zoneOf(node)) last.count += 1;
    else zones.push({ zone: node.rack_id ?? '', first: index, count: 1 });
  });
  return zones;
}

/** Return all nodes, and a placeholder for each unknown node that has a shard. */
function columns(nodes: readonly Node[], shards: readonly Shard[]): NodeColumn[] {
  const known = new Map<number, NodeColumn>(nodes.map((node) => [node.uid, node]));
  for (const { node_uid } of shards) {
    const uid = Number(node_uid);
    if (!known.has(uid)) known.set(uid, { uid, addr: '', status: 'down', agent_status: 'lost' });
  }
  return [...known.values()].sort(byZone);
}

type Resyncs = ReadonlyMap<string, Resync>;

interface PlacementContext {
  column: ReadonlyMap<number, number>;
  nodes: readonly NodeColumn[];
  resyncs: Resyncs;
  moves: readonly ShardMove[];
}

export function placementModel(
  nodes: readonly Node[],
  shards: readonly Shard[],
  resyncs: Resyncs = new Map(),
  moves: readonly ShardMove[] = [],
  rackAware = false,
): PlacementModel {
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
    zones: zoneColumns(shownNodes),
    pairs,
    slots: segments(owners),
    warnings: [...summarize(pairs), ...(rackAware ? zoneWarnings(pairs, shownNodes) : [])],
  };
}

function makePair(
  group: readonly Shard[],
  index: number,
  context: PlacementContext,
): ReplicationPair {
  const { column } = context;
  const primary = group.find((shard) => roleOf(shard) === 'primary');
  const slots = parseSlots((primary ?? group[0])?.assigned_slots);
  const cells = group
    .map((shard) => makeCell(shard, group, context))
    .sort((a, b) => a.role.localeCompare(b.role) || Number(a.shard.uid) - Number(b.shard.uid));
  const columnIndexes = cells.map((cell) => column.get(cell.node) ?? 0);
  const id = group[0]?.pair ?? index;
  const moves = context.moves.filter(({ pair }) => pair === id);
  return {
    id,
    slots,
    label: formatSlots(slots),
    cells,
    plannedCells: moves.flatMap(({ newcomer_uid: uid, to_node_uid: node }) =>
      uid === undefined || node === undefined || group.some((shard) => shard.uid === uid)
        ? []
        : [{ uid, node }],
    ),
    moves: moves.flatMap(({ shard_uid, to_node_uid }) => {
      const moving = cells.find(({ shard }) => shard.uid === shard_uid);
      const from = moving && column.get(moving.node);
      const to = to_node_uid === undefined ? undefined : column.get(to_node_uid);
      return from === undefined || to === undefined ? [] : [{ from, to }];
    }),
    first: Math.min(...columnIndexes),
    last: Math.max(...columnIndexes),
  };
}

function makeCell(
  shard: Shard,
  group: readonly Shard[],
  { nodes, resyncs, moves }: PlacementContext,
): Cell {
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
      `The agent of node ${node.uid} does not respond, so this is the last known state`,
    );
  } else if (isShardStarting(shard)) attention.push('Starting');
  else if (shard.detailed_status === 'loading') attention.push('Loading data');
  else if (shard.detailed_status !== 'ok')
    attention.push(shard.detail || `State ${shard.detailed_status}`);
  if (role === 'replica' && resync) {
    const { primary, phase, percent } = resync;
    attention.push(
      `Resyncing from redis:${primary}: ${phaseLabel(phase)}, ${Math.floor(percent)}%`,
    );
  } else if (role === 'replica' && shard.sync?.status === 'link_down') {
    attention.push('Link to its primary is down');
  } else if (role === 'replica' && shard.sync?.status === 'in_progress') {
    attention.push('Copying from its primary');
  }
  const sameNode = group.find(
    (other) => other !== shard && other.node_uid === shard.node_uid && roleOf(other) !== role,
  );
  if (sameNode) attention.push(`Primary and replica are both on node ${shard.node_uid}`);
  return {
    shard,
    role,
    node: Number(shard.node_uid),
    warnings: [...broken, ...attention],
    severity: broken.length ? 'broken' : attention.length ? 'attention' : 'ok',
    resync: resync ? { phase: phaseLabel(resync.phase), percent: resync.percent } : null,
    movesTo: move ? (move.to_node_uid ?? 0) : null,
  };
}

function summarize(pairs: readonly ReplicationPair[]): Warning[] {
  const sharedNode = pairs.filter(({ cells }) =>
    cells.some((cell) => cell.warnings.some((text) => text.startsWith('Primary and replica'))),
  ).length;
  const down = pairs.flatMap(({ cells }) => cells.filter(({ severity }) => severity === 'broken'));
  const withoutPrimary = pairs.filter(
    ({ cells }) => !cells.some(({ role }) => role === 'primary'),
  ).length;
  const primaryDown = down.some(({ role }) => role === 'primary');
  const summary = (
    count: number,
    one: string,
    many: string,
    tone: Warning['tone'] = 'attention',
  ): Warning[] =>
    count ? [{ tone, text: count === 1 ? one : many.replace('#', String(count)) }] : [];
  return [
    ...summary(
      down.length,
      'One shard is down.',
      '# shards are down.',
      primaryDown ? 'broken' : 'attention',
    ),
    ...summary(
      sharedNode,
      'One primary shares its node with its replica: if the node fails, both are lost.',
      '# primaries share their node with their replica: if the node fails, both are lost.',
    ),
    ...summary(
      withoutPrimary,
      'One slot range has no primary.',
      '# slot ranges have no primary.',
      'broken',
    ),
  ];
}

/** Return the warning about pairs of a rack-aware database without copies in different zones. */
function zoneWarnings(pairs: readonly ReplicationPair[], nodes: readonly NodeColumn[]): Warning[] {
  const zones = new Map(
    nodes.map((node) => [node.uid, [zoneOf(node), node.second_rack_id?.toLowerCase() ?? '']]),
  );
  const areSeparate = (a: Cell, b: Cell): boolean => {
    const [first, second] = [zones.get(a.node) ?? [], zones.get(b.node) ?? []].map((each) =>
      each.filter(Boolean),
    ) as [string[], string[]];
    return first.length > 0 && second.length > 0 && !first.some((zone) => second.includes(zone));
  };
  const count = pairs.filter(
    ({ cells }) =>
      cells.length > 1 && !cells.some((a) => cells.some((b) => a !== b && areSeparate(a, b))),
  ).length;
  if (!count) return [];
  const subject =
    count === 1
      ? 'One primary and its replica are not'
      : `${count} primaries and their replicas are not`;
  return [
    {
      tone: 'attention',
      text: `${subject} in different zones, although the database is rack-aware. Rebalance the database.`,
    },
  ];
}
