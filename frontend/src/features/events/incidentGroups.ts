/** Grouping of the events of an outage into one row. Otherwise, each shard would add two rows. Pure. */
import type { Incident, LogEvent } from '@/api/types';

/** Minimum number of events in a group. */
const MIN_GROUP_SIZE = 3;

export interface EventRow {
  event: LogEvent;
  /** Set if the row represents a group: the number of events, and the time of the first one. */
  group?: { incident: Incident; count: number; since: string };
  /** Whether the event belongs to the group above. */
  isGroupMember?: boolean;
}

/**
 * Return the rows of `events` (newest first). Events of expanded incidents (`open`) follow the row
 * of their group.
 */
export function groupByIncident(
  events: readonly LogEvent[],
  incidents: readonly Incident[],
  open: ReadonlySet<number>,
): EventRow[] {
  const owners = new Map(
    incidents.flatMap((incident) => incident.timeline.map((uid) => [uid, incident] as const)),
  );
  const members = new Map<number, LogEvent[]>();
  for (const event of events) {
    const owner = owners.get(event.uid);
    if (owner) members.set(owner.uid, [...(members.get(owner.uid) ?? []), event]);
  }
  const emitted = new Set<number>();
  return events.flatMap((event): EventRow[] => {
    const incident = owners.get(event.uid);
    const groupEvents = incident && members.get(incident.uid);
    if (!incident || !groupEvents || groupEvents.length < MIN_GROUP_SIZE) return [{ event }];
    if (emitted.has(incident.uid)) return [];
    emitted.add(incident.uid);
    const mainEvent =
      groupEvents.find(({ uid }) => uid === incident.event_uid) ??
      groupEvents[groupEvents.length - 1] ??
      event;
    const since = groupEvents[groupEvents.length - 1]?.time ?? event.time;
    const head = {
      event: { ...mainEvent, time: event.time, time_ms: event.time_ms },
      group: { incident, count: groupEvents.length, since },
    };
    const rest = open.has(incident.uid)
      ? groupEvents.map((each): EventRow => ({ event: each, isGroupMember: true }))
      : [];
    return [head, ...rest];
  });
}

export const eventRowKey = ({ event, group }: EventRow): string | number =>
  group ? `incident-${group.incident.uid}` : event.uid;
