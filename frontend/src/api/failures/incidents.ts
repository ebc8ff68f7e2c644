/** API of incidents: lost nodes and primaries with the consequences. The stream triggers updates. */
import { queryOptions, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { usePermission } from '../access/session';
import { getQuery, requestText } from '../http';
import type { Incident, IncidentWithEvents } from '../types';

/** Number of incidents that are fetched again with each change. Older ones no longer change. */
const LATEST = 20;
const MAX_INCIDENTS = 100;
/** Polling interval for open incidents, because no event reports that a missing replica is back. */
const OPEN_POLL_MS = 5_000;

export const incidentsKey = ['incidents'] as const;

export const isEnded = ({ state }: Pick<Incident, 'state'>): boolean => state === 'over';

/** Open incidents first, then the newest. */
export const incidentsQuery = queryOptions({
  queryKey: [...incidentsKey, 'all'],
  queryFn: getQuery<Incident[]>(`/v1/incidents?limit=${LATEST}`),
  refetchInterval: ({ state }) => (state.data?.every(isEnded) === false ? OPEN_POLL_MS : false),
});

/** Ended incidents do not change, so they are fetched less often. */
const pastQuery = queryOptions({
  queryKey: ['incidents-past'],
  queryFn: getQuery<Incident[]>(`/v1/incidents?limit=${MAX_INCIDENTS}`),
  staleTime: 60_000,
  refetchInterval: 60_000,
});

/** Return the latest incidents; undefined while they are unknown, or if the user cannot view incidents. */
export function useLatestIncidents(): Incident[] | undefined {
  return useQuery({ ...incidentsQuery, enabled: usePermission('readIncidents') }).data;
}

/** Return up to 100 incidents, newest first; undefined while they are unknown. */
export function useIncidents(): Incident[] | undefined {
  const latest = useLatestIncidents();
  const older = useQuery({ ...pastQuery, enabled: usePermission('readIncidents') }).data;
  return useMemo(() => latest && mergeIncidents(older ?? [], latest), [latest, older]);
}

/** Merge lists without duplicates. Later lists take precedence. */
export function mergeIncidents(...lists: readonly (readonly Incident[])[]): Incident[] {
  const byUid = new Map(lists.flat().map((incident) => [incident.uid, incident]));
  return [...byUid.values()].sort(
    (a, b) => Number(isEnded(a)) - Number(isEnded(b)) || b.began_ms - a.began_ms,
  );
}

export const incidentQuery = (uid: number) =>
  queryOptions({
    queryKey: [...incidentsKey, uid],
    queryFn: getQuery<IncidentWithEvents>(`/v1/incidents/${uid}`),
    refetchInterval: ({ state }) => (state.data && !isEnded(state.data) ? OPEN_POLL_MS : false),
  });

export const reportPath = (uid: number): string => `/v1/incidents/${uid}/report`;

export const fetchReport = (uid: number): Promise<string> => requestText('GET', reportPath(uid));
