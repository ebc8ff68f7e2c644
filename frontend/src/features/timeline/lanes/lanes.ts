/** Lanes of events and actions: cluster, nodes with their shards, and actions. Pure. */
import { failoverOf, isSpan, startOf } from '@/api/failures/eventSpans';
import type { Action, LogEvent, Node, Shard } from '@/api/types';
import { assignRows, clusterTimes } from '@/lib/timelineLayout';
import { actionBar, bar, type Item, mark, mergedResyncs, type UnplacedItem } from './items';

export interface Lane {
  id: string;
  title: string;
  detail: string;
  depth: 0 | 1;
  node: number | null;
  /** Whether the lanes of its shards are shown; null if no shard of the node has events. */
  isExpanded: boolean | null;
  rows: number;
  items: Item[];
}

export interface LaneInput {
  events: readonly LogEvent[];
  actions: readonly Action[];
  nodes: readonly Node[];
  shards: readonly Shard[];
  /** Database names by uid. */
  databases: ReadonlyMap<number, string>;
  expanded: ReadonlySet<number>;
  /** Width of a mark in milliseconds. */
  gap: number;
}

export function lanesOf(input: LaneInput): Lane[] {
  const { events, nodes, shards, databases, expanded, gap } = input;
  const nodeOfShard = new Map(shards.map((shard) => [shard.uid, Number(shard.node_uid)]));
  const eventsByLane = new Map<string, LogEvent[]>();
  for (const event of events) {
    for (const laneId of laneIdsOf(event, nodeOfShard)) {
      eventsByLane.set(laneId, [...(eventsByLane.get(laneId) ?? []), event]);
    }
  }
  const at = (laneId: string) => eventsByLane.get(laneId) ?? [];
  const found = [lane('cluster', 'Cluster', '', at('cluster'), databases, gap)];
  for (const { uid, addr } of withRemovedNodes(nodes, events)) {
    const shardsWithEvents = shards.filter(
      (shard) => Number(shard.node_uid) === uid && at(shard.uid).length,
    );
    const open = expanded.has(uid);
    const nodeEvents = at(`node ${uid}`);
    const shardEvents = open ? [] : shardsWithEvents.flatMap((shard) => at(shard.uid));
    const all = [...new Set([...nodeEvents, ...shardEvents])];
    found.push({
      ...lane(`node ${uid}`, `Node ${uid}`, addr, all, databases, gap, !open),
      node: uid,
      isExpanded: shardsWithEvents.length ? open : null,
    });
    if (!open) continue;
    for (const shard of shardsWithEvents) {
      const role = shard.role === 'master' ? 'primary' : 'replica';
      found.push({
        ...lane(shard.uid, `redis:${shard.uid}`, role, at(shard.uid), databases, gap),
        depth: 1,
      });
    }
  }
  const bars = input.actions.map(actionBar);
  found.push(arrangeRows({ id: 'actions', title: 'Actions', detail: '' }, [], bars, gap));
  return found;
}

/**
 * Return the ids of the lanes of an event. A failover appears at the lost primary and at the
 * promoted replica.
 */
function laneIdsOf(event: LogEvent, nodeOfShard: ReadonlyMap<string, number>): string[] {
  const failover = failoverOf(event);
  if (failover)
    return [...new Set([failover.lost, failover.promoted])].filter((uid) => nodeOfShard.has(uid));
  if (event.shard_uid !== undefined && nodeOfShard.has(String(event.shard_uid))) {
    return [String(event.shard_uid)];
  }
  return [event.node_uid === undefined ? 'cluster' : `node ${event.node_uid}`];
}

/** Return the current nodes, and removed nodes that occur in the events. */
function withRemovedNodes(nodes: readonly Node[], events: readonly LogEvent[]) {
  const known = new Map(nodes.map(({ uid, addr }) => [uid, addr]));
  for (const { node_uid } of events) {
    if (node_uid !== undefined && !known.has(node_uid)) known.set(node_uid, 'removed');
  }
  return [...known].map(([uid, addr]) => ({ uid, addr })).sort((a, b) => a.uid - b.uid);
}

function lane(
  id: string,
  title: string,
  detail: string,
  events: readonly LogEvent[],
  databases: ReadonlyMap<number, string>,
  gap: number,
  isCollapsed = false,
): Lane {
  const resyncs = isCollapsed ? events.filter(({ type }) => type === 'resync') : [];
  const spans = events.filter((event) => isSpan(event) && !resyncs.includes(event));
  const instants = events
    .filter((event) => !isSpan(event) && !resyncs.includes(event))
    .sort((a, b) => startOf(a) - startOf(b));
  const marks = clusterTimes(instants.map(startOf), gap).map((group) =>
    mark(group.flatMap((index) => instants[index] ?? [])),
  );
  const bars = [
    ...spans.map((event) => bar(event, databases)),
    ...mergedResyncs(resyncs, databases),
  ];
  return arrangeRows({ id, title, detail }, marks, bars, gap);
}

function arrangeRows(
  names: Pick<Lane, 'id' | 'title' | 'detail'>,
  marks: readonly UnplacedItem[],
  bars: readonly UnplacedItem[],
  gap: number,
): Lane {
  const markRows = marks.length ? 1 : 0;
  // Bars can be much narrower than marks with a number.
  const rows = assignRows(bars, gap / 4);
  const items = [
    ...bars.map((item, index) => ({ ...item, row: markRows + (rows[index] ?? 0) })),
    ...marks.map((item) => ({ ...item, row: 0 })),
  ].sort((a, b) => a.from - b.from);
  const height = Math.max(1, markRows + (rows.length ? Math.max(...rows) + 1 : 0));
  return { ...names, depth: 0, node: null, isExpanded: null, rows: height, items };
}
