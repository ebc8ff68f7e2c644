/** The alarms that are raised now: what the console answers, and what the stream has told since. */
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

/** An alarm that is raised, in words. */
export interface RaisedAlarm {
  type: string;
  text: string;
  severity: LogEvent['severity'];
  /** Epoch milliseconds. */
  since: number;
  bdb: number | undefined;
  node: number | undefined;
}

const ASKED_AGAIN_MS = 10_000;

/** Undefined until it is known. Who may not read the whole log hears of no event, or not of all: then the console is asked again and again. */
export function useOpenAlarms(): LogEvent[] | undefined {
  const hears = useMay('readIncidents');
  const refetchInterval = hears ? false : ASKED_AGAIN_MS;
  const health = useQuery({ ...healthQuery, refetchInterval }).data;
  const latest = useQuery(eventsQuery).data;
  return useMemo(() => health && openAlarms(health.alarms, latest ?? []), [health, latest]);
}
