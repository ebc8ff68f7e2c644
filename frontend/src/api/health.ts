/** API of active alarms, from the console's reply and later events of the stream. */
import { queryOptions, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { eventsQuery } from './events';
import { read } from './http';
import { useMay } from './session';
import { isOpen } from './story';
import { chronological } from './timeline';
import type { Health, LogEvent } from './types';

export const healthQuery = queryOptions({
  queryKey: ['health'],
  queryFn: read<Health>('/v1/cluster/health'),
});

export const openAlarms = (...lists: readonly (readonly LogEvent[])[]): LogEvent[] =>
  chronological(...lists).filter((event) => event.type.startsWith('alarm_') && isOpen(event));

/** An active alarm with its display text. */
export interface RaisedAlarm {
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
export function useOpenAlarms(): LogEvent[] | undefined {
  const getsAllEvents = useMay('readIncidents');
  const refetchInterval = getsAllEvents ? false : POLL_MS;
  const health = useQuery({ ...healthQuery, refetchInterval }).data;
  const latest = useQuery(eventsQuery).data;
  return useMemo(() => health && openAlarms(health.alarms, latest ?? []), [health, latest]);
}
