/** What an outage left in the log as one row, in place of two lines for every shard. Pure. */
import type { Incident, LogEvent } from '@/api/types';

/** Fewer are not worth hiding. */
const LEAST = 3;

export interface Row {
  event: LogEvent;
  /** In place of its events: their number, and the time of the first. */
  group?: { incident: Incident; count: number; since: string };
  /** One of the events of the group above. */
  within?: boolean;
}

/** `events` newest first; those of incidents that are `open` follow their row. */
export function grouped(
  events: readonly LogEvent[],
  incidents: readonly Incident[],
  open: ReadonlySet<number>,
): Row[] {
  const owners = new Map(
    incidents.flatMap((incident) => incident.timeline.map((uid) => [uid, incident] as const)),
  );
  const members = new Map<number, LogEvent[]>();
  for (const event of events) {
    const owner = owners.get(event.uid);
    if (owner) members.set(owner.uid, [...(members.get(owner.uid) ?? []), event]);
  }
  const told = new Set<number>();
  return events.flatMap((event): Row[] => {
    const incident = owners.get(event.uid);
    const own = incident && members.get(incident.uid);
    if (!incident || !own || own.length < LEAST) return [{ event }];
    if (told.has(incident.uid)) return [];
    told.add(incident.uid);
    const loss = own.find(({ uid }) => uid === incident.event_uid) ?? own[own.length - 1] ?? event;
    const since = own[own.length - 1]?.time ?? event.time;
    const head = {
      event: { ...loss, time: event.time, time_ms: event.time_ms },
      group: { incident, count: own.length, since },
    };
    const rest = open.has(incident.uid)
      ? own.map((each): Row => ({ event: each, within: true }))
      : [];
    return [head, ...rest];
  });
}

export const keyOf = ({ event, group }: Row): string | number =>
  group ? `incident-${group.incident.uid}` : event.uid;
