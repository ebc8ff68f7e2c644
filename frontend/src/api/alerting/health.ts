/** API of active alarms, from the console's reply and later events of the stream. */
import { queryOptions, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
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
  return useMemo(() => health && activeAlarms(health.alarms, latest ?? []), [health, latest]);
}
