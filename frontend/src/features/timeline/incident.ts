/** One outage with everything it brought about, put together from the log. Pure. */
import {
  type Failover,
  failoverOf,
  isOpen,
  type Outage,
  outageOf,
  type Resync,
  resyncOf,
  startOf,
} from '@/api/story';
import type { LogEvent } from '@/api/types';

/** What a drill orders shows a little later. */
const DRILL_BEFORE_MS = 60_000;
/** A shard may be seen down just before its node is. */
const BEFORE_MS = 5_000;
/** What happens longer after the return has another cause. */
const AFTER_MS = 30 * 60_000;
/** A node that came back is given this long to begin with its resyncs. */
const SETTLE_MS = 10_000;

const REPAIRS = new Set([
  'resync',
  'replica_revived',
  'replica_revival_failed',
  'replica_in_sync',
  'shard_up',
]);

export interface Incident extends Outage {
  /** Ascending. */
  events: LogEvent[];
  drill: LogEvent | null;
  failovers: Failover[];
  failedFailovers: number;
  resyncs: Resync[];
  /** Shards that came back as replicas and are in sync, whether or not it took a resync. */
  revived: number;
  state: 'down' | 'resyncing' | 'over';
  /** When the last resync ended; null while it is not over. */
  end: number | null;
  /** Of all resyncs, 0 to 100; null when there is none. */
  percent: number | null;
  /** Bytes that the promoted replicas had not received; null when unknown for one of them. */
  bytesBehind: number | null;
}

export function incidentOf(
  failed: LogEvent,
  events: readonly LogEvent[],
  now: number,
): Incident | null {
  const outage = outageOf(failed);
  if (!outage) return null;
  const own = belonging(outage, events, now);
  const failovers = own.flatMap((event) => failoverOf(event) ?? []);
  // A replica notices the loss of its primary before anybody does, and tries to resync: that is
  // part of the loss, not of the recovery.
  const resyncs = own
    .flatMap((event) => resyncOf(event) ?? [])
    .filter(({ broken, from }) => !(broken && from < outage.from));
  const expected = outage.primaries + outage.replicas;
  const running = resyncs.filter(({ open }) => open).length;
  const revived = own.filter(({ type }) => type === 'replica_revived').length;
  const settling =
    outage.to !== null &&
    Math.max(resyncs.length, revived) < expected &&
    now - outage.to < SETTLE_MS;
  const state = outage.to === null ? 'down' : running || settling ? 'resyncing' : 'over';
  const ends = resyncs.flatMap(({ to }) => to ?? []);
  return {
    ...outage,
    events: own,
    drill: own.find(({ type }) => type === 'drill_started') ?? null,
    failovers,
    failedFailovers: own.filter(({ type }) => type === 'shard_failover_failed').length,
    resyncs,
    revived,
    state,
    end: state === 'over' ? Math.max(outage.to ?? 0, ...ends) : null,
    percent: percentOf(resyncs, expected),
    bytesBehind: sum(failovers.map(({ bytesBehind }) => bytesBehind)),
  };
}

function belonging(outage: Outage, events: readonly LogEvent[], now: number): LogEvent[] {
  const next = events.find(
    (event) =>
      event.type === 'node_failed' &&
      event.node_uid === outage.node &&
      startOf(event) > outage.from,
  );
  const until = Math.min(next ? startOf(next) - 1 : now, (outage.to ?? now) + AFTER_MS);
  const within = events.filter((event) => {
    const lead = event.type.startsWith('drill') ? DRILL_BEFORE_MS : BEFORE_MS;
    const at = startOf(event);
    if (at < outage.from - lead || at > until) return false;
    // Once the node is back, only what repairs it belongs to the outage.
    return outage.to === null || at <= outage.to + SETTLE_MS || REPAIRS.has(event.type);
  });
  const orders = new Set(
    within.flatMap((event) =>
      failoverOf(event) && event.node_uid === outage.node ? (event.action_uid ?? []) : [],
    ),
  );
  const pairs = new Set(
    within
      .filter((event) => failoverOf(event) && event.node_uid === outage.node)
      .map((event) => `${event.bdb_uid}/${event.pair}`),
  );
  return within.filter(
    (event) =>
      event.node_uid === outage.node ||
      (event.action_uid !== undefined && orders.has(event.action_uid)) ||
      (event.type === 'shard_failover_failed' && startOf(event) >= outage.from) ||
      (event.type === 'resync' && pairs.has(`${event.bdb_uid}/${event.pair}`)),
  );
}

/** Shards that still wait for their turn count as nothing done, so that the percent never falls. */
function percentOf(resyncs: readonly Resync[], expected: number): number | null {
  const latest = new Map(
    resyncs.filter(({ broken }) => !broken).map((resync) => [resync.shard, resync]),
  );
  if (!latest.size) return null;
  const done = [...latest.values()].reduce(
    (total, { open, percent }) => total + (open ? percent : 100),
    0,
  );
  return done / Math.max(latest.size, expected);
}

function sum(values: readonly (number | null)[]): number | null {
  return values.reduce<number | null>(
    (total, value) => (total === null || value === null ? null : total + value),
    0,
  );
}

/** Outages that are not over, each with its story. */
export function ongoing(events: readonly LogEvent[], now: number): Incident[] {
  return events
    .filter((event) => event.type === 'node_failed')
    .flatMap((event) => incidentOf(event, events, now) ?? [])
    .filter(({ state }) => state !== 'over');
}

/** The outage an event is part of: the latest that began before it. */
export function incidentWith(
  event: LogEvent,
  events: readonly LogEvent[],
  now: number,
): Incident | null {
  const outages = events.filter(({ type }) => type === 'node_failed').reverse();
  for (const outage of outages) {
    const incident = incidentOf(outage, events, now);
    if (incident?.events.some(({ uid }) => uid === event.uid)) return incident;
  }
  return null;
}

/** Events with the same cause, ascending: those of the incident, else of the action or the pair. */
export function related(
  event: LogEvent,
  events: readonly LogEvent[],
  now: number,
): readonly LogEvent[] {
  const incident = incidentWith(event, events, now);
  if (incident) return incident.events.filter(({ type }) => !isEcho(type));
  const near = (other: LogEvent) => Math.abs(startOf(other) - startOf(event)) <= 60_000;
  return events.filter(
    (other) =>
      (event.action_uid !== undefined && other.action_uid === event.action_uid) ||
      (near(other) &&
        ((event.shard_uid !== undefined && other.shard_uid === event.shard_uid) ||
          (event.pair !== undefined &&
            other.pair === event.pair &&
            other.bdb_uid === event.bdb_uid))),
  );
}

/** What only repeats, from the shards' side, what the list says already. */
const isEcho = (type: string): boolean =>
  type === 'shard_role_changed' || type === 'replica_link_down' || type === 'replica_in_sync';

export const isOngoing = (event: LogEvent): boolean =>
  event.type === 'node_failed' && isOpen(event);

/** The window with all that belongs to the outages in it; epoch seconds. */
export function reachOf(
  events: readonly LogEvent[],
  window: { from: number; to: number },
): { from: number; to: number } {
  const outages = events.flatMap((event) => outageOf(event) ?? []);
  return {
    from: Math.min(window.from, ...outages.map(({ from }) => (from - DRILL_BEFORE_MS) / 1000)),
    to: Math.max(window.to, ...outages.map(({ from, to }) => ((to ?? from) + AFTER_MS) / 1000)),
  };
}

/** From when on one has to look for what belongs to outages that go on; epoch seconds, `otherwise` at the latest. */
export function beginOf(events: readonly LogEvent[], otherwise: number): number {
  const open = events.filter(isOngoing).map((event) => (startOf(event) - DRILL_BEFORE_MS) / 1000);
  return Math.floor(Math.min(otherwise, ...open));
}
