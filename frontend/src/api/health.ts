/** The alarms that are raised now: what the console answers, and what the stream has told since. */
import { queryOptions, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { eventsQuery } from './events';
import { request } from './http';
import { isOpen } from './story';
import { chronological } from './timeline';
import type { Health, LogEvent } from './types';

export const healthQuery = queryOptions({
  queryKey: ['health'],
  queryFn: () => request<Health>('GET', '/v1/cluster/health'),
});

export const openAlarms = (...lists: readonly (readonly LogEvent[])[]): LogEvent[] =>
  chronological(...lists).filter((event) => event.type.startsWith('alarm_') && isOpen(event));

/** Undefined until it is known. */
export function useOpenAlarms(): LogEvent[] | undefined {
  const health = useQuery(healthQuery).data;
  const latest = useQuery(eventsQuery).data;
  return useMemo(() => health && openAlarms(health.alarms, latest ?? []), [health, latest]);
}
