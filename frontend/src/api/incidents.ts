/** Nodes and primaries that were lost, with what followed: the console's account, kept fresh by the stream. */
import { queryOptions } from '@tanstack/react-query';
import { request, requestText } from './http';
import type { Incident, IncidentInFull } from './types';

const MOST = 100;
/** That a copy is missing no more is told by no change. */
const WHILE_OPEN_MS = 5_000;

export const incidentsKey = ['incidents'] as const;

export const isOver = ({ state }: Pick<Incident, 'state'>): boolean => state === 'over';

/** Those that go on first, then the newest. */
export const incidentsQuery = queryOptions({
  queryKey: [...incidentsKey, 'all'],
  queryFn: ({ signal }) =>
    request<Incident[]>('GET', `/v1/incidents?limit=${MOST}`, undefined, signal),
  refetchInterval: ({ state }) => (state.data?.every(isOver) ? false : WHILE_OPEN_MS),
});

export const incidentQuery = (uid: number) =>
  queryOptions({
    queryKey: [...incidentsKey, uid],
    queryFn: ({ signal }) =>
      request<IncidentInFull>('GET', `/v1/incidents/${uid}`, undefined, signal),
    refetchInterval: ({ state }) => (state.data && !isOver(state.data) ? WHILE_OPEN_MS : false),
  });

export const reportPath = (uid: number): string => `/v1/incidents/${uid}/report`;

export const fetchReport = (uid: number): Promise<string> => requestText('GET', reportPath(uid));
