/** Assignment of events to the incidents that the console reports. Pure. */
import { startOf } from '@/api/failures/eventSpans';
import type { Incident, LogEvent } from '@/api/types';

/** Seconds before an incident that are shown with it, because they contain its causes. */
const BEFORE_SECONDS = 60;

/** Return the incident that contains an event, the latest one if there are several. */
export function incidentWith(
  event: LogEvent,
  incidents: readonly Incident[],
): Incident | undefined {
  return incidents
    .filter(({ timeline }) => timeline.includes(event.uid))
    .sort((a, b) => b.began_ms - a.began_ms)[0];
}

/**
 * Return related events in ascending order: of the incident, otherwise of the action, shard or
 * replication pair.
 */
export function relatedEvents(
  event: LogEvent,
  events: readonly LogEvent[],
  incident: Incident | undefined,
): readonly LogEvent[] {
  if (incident) {
    const incidentUids = new Set(incident.timeline);
    return events.filter(({ uid, type }) => incidentUids.has(uid) && !isEcho(type));
  }
  const isNear = (other: LogEvent) => Math.abs(startOf(other) - startOf(event)) <= 60_000;
  return events.filter(
    (other) =>
      (event.action_uid !== undefined && other.action_uid === event.action_uid) ||
      (isNear(other) &&
        ((event.shard_uid !== undefined && other.shard_uid === event.shard_uid) ||
          (event.pair !== undefined &&
            other.pair === event.pair &&
            other.bdb_uid === event.bdb_uid))),
  );
}

/** Whether events of a type repeat other events of the list from the perspective of a shard. */
const isEcho = (type: string): boolean =>
  type === 'shard_role_changed' || type === 'replica_link_down' || type === 'replica_in_sync';

/** Extend a window to all events of the incidents in it. Epoch seconds. */
export function windowWithIncidents(
  incidents: readonly Incident[],
  window: { from: number; to: number },
): { from: number; to: number } {
  const overlapping = incidents.filter(
    ({ began_ms, ended_ms }) =>
      began_ms <= window.to * 1000 && (ended_ms ?? Number.POSITIVE_INFINITY) >= window.from * 1000,
  );
  return {
    from: Math.min(
      window.from,
      ...overlapping.map(({ began_ms }) => began_ms / 1000 - BEFORE_SECONDS),
    ),
    to: Math.max(
      window.to,
      ...overlapping.map(({ ended_ms, began_ms }) => (ended_ms ?? began_ms) / 1000),
    ),
  };
}
