/** Which incident an event belongs to, as the console says. Pure. */
import { startOf } from '@/api/story';
import type { Incident, LogEvent } from '@/api/types';

/** What led to it. */
const BEFORE_SECONDS = 60;

/** The one an event is part of: the latest that began before it. */
export function incidentWith(
  event: LogEvent,
  incidents: readonly Incident[],
): Incident | undefined {
  return incidents
    .filter(({ timeline }) => timeline.includes(event.uid))
    .sort((a, b) => b.began_ms - a.began_ms)[0];
}

/** Events with the same cause, ascending: those of the incident, else of the action or the pair. */
export function related(
  event: LogEvent,
  events: readonly LogEvent[],
  incident: Incident | undefined,
): readonly LogEvent[] {
  if (incident) {
    const own = new Set(incident.timeline);
    return events.filter(({ uid, type }) => own.has(uid) && !isEcho(type));
  }
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

/** The window with all that belongs to the incidents in it; epoch seconds. */
export function reachOf(
  incidents: readonly Incident[],
  window: { from: number; to: number },
): { from: number; to: number } {
  const inside = incidents.filter(
    ({ began_ms, ended_ms }) =>
      began_ms <= window.to * 1000 && (ended_ms ?? Number.POSITIVE_INFINITY) >= window.from * 1000,
  );
  return {
    from: Math.min(window.from, ...inside.map(({ began_ms }) => began_ms / 1000 - BEFORE_SECONDS)),
    to: Math.max(
      window.to,
      ...inside.map(({ ended_ms, began_ms }) => (ended_ms ?? began_ms) / 1000),
    ),
  };
}
