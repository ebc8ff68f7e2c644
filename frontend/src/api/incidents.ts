/** Nodes and primaries that were lost, with what followed: the console's account, kept fresh by the stream. */
import { queryOptions, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { read, requestText } from './http';
import { useMay } from './session';
import type { Incident, IncidentInFull } from './types';

/** Asked for again with each change: those that may still change. */
const LATEST = 20;
const MOST = 100;
/** That a copy is missing no more is told by no change. */
const WHILE_OPEN_MS = 5_000;

export const incidentsKey = ['incidents'] as const;

export const isOver = ({ state }: Pick<Incident, 'state'>): boolean => state === 'over';

/** Those that go on first, then the newest. */
export const incidentsQuery = queryOptions({
  queryKey: [...incidentsKey, 'all'],
  queryFn: read<Incident[]>(`/v1/incidents?limit=${LATEST}`),
  refetchInterval: ({ state }) => (state.data?.every(isOver) === false ? WHILE_OPEN_MS : false),
});

/** What is over stays as it is. */
const pastQuery = queryOptions({
  queryKey: ['incidents-past'],
  queryFn: read<Incident[]>(`/v1/incidents?limit=${MOST}`),
  staleTime: 60_000,
  refetchInterval: 60_000,
});

/** Undefined until something is known, and to whom none are shown. */
export function useLatestIncidents(): Incident[] | undefined {
  return useQuery({ ...incidentsQuery, enabled: useMay('readIncidents') }).data;
}

/** As many as the console tells, newest first; undefined until something is known. */
export function useIncidents(): Incident[] | undefined {
  const latest = useLatestIncidents();
  const past = useQuery({ ...pastQuery, enabled: useMay('readIncidents') }).data;
  return useMemo(() => latest && merged(past ?? [], latest), [latest, past]);
}

/** Each once; of two versions that of the later list. */
export function merged(...lists: readonly (readonly Incident[])[]): Incident[] {
  const byUid = new Map(lists.flat().map((incident) => [incident.uid, incident]));
  return [...byUid.values()].sort(
    (a, b) => Number(isOver(a)) - Number(isOver(b)) || b.began_ms - a.began_ms,
  );
}

export const incidentQuery = (uid: number) =>
  queryOptions({
    queryKey: [...incidentsKey, uid],
    queryFn: read<IncidentInFull>(`/v1/incidents/${uid}`),
    refetchInterval: ({ state }) => (state.data && !isOver(state.data) ? WHILE_OPEN_MS : false),
  });

export const reportPath = (uid: number): string => `/v1/incidents/${uid}/report`;

export const fetchReport = (uid: number): Promise<string> => requestText('GET', reportPath(uid));
