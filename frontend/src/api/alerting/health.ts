/** API of active alarms, from the console's reply and later events of the stream. */
import { queryOptions, useQuery } from '@tanstack/react-query';
import { usePermission } from '../access/session';
import { isOpen } from '../failures/eventSpans';
import { chronological } from '../failures/timeline';
import { getQuery } from '../http';
import type { Health, LogEvent } from '../types';
import { eventsQuery } from './events';

export const healthQuery = queryOptions({
  queryKey: ['health'],
  queryFn: getQuery<Health>('/v1/cluster/health'),
});

export const activeAlarms = (...lists: readonly (readonly LogEvent[])[]): LogEvent[] =>
  chronological(...lists).filter((event) => event.type.startsWith('alarm_') && isOpen(event));

/** An active alarm with its display text. */
export interface ActiveAlarm {
  type: string;
  text: string;
  severity: LogEvent['severity'];
  /** Epoch milliseconds. */
  since: number;
  bdb: number | undefined;
  node: number | undefined;
}

const POLL_MS = 10_000;

/** Return the active alarms; undefined while they are unknown. Polls for users who cannot read the complete event log, because their stream lacks events. */
export function useActiveAlarms(): LogEvent[] | undefined {
  const getsAllEvents = usePermission('readIncidents');
  const refetchInterval = getsAllEvents ? false : POLL_MS;
  const health = useQuery({ ...healthQuery, refetchInterval }).data;
  const latest = useQuery(eventsQuery).data;
  return health && activeAlarmsOf(health, latest);
}

/** The last result, because many components of a page use it. */
let last:
  | { health: Health; latest: readonly LogEvent[] | undefined; alarms: LogEvent[] }
  | undefined;

function activeAlarmsOf(health: Health, latest: readonly LogEvent[] | undefined): LogEvent[] {
  if (last?.health !== health || last.latest !== latest)
    last = { health, latest, alarms: activeAlarms(health.alarms, latest ?? []) };
  return last.alarms;
}
