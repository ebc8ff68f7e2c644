/** API of the consoles that use the same store. */
import { queryOptions } from '@tanstack/react-query';
import { getQuery, request } from '../http';
import type { ClusterConsole } from '../types';

const PATH = '/v1/consoles';
/** Polling interval in milliseconds. Consoles record themselves every two seconds. */
const POLL_MS = 2000;

export const consolesQuery = queryOptions({
  queryKey: ['consoles'],
  queryFn: getQuery<ClusterConsole[]>(PATH),
  staleTime: 0,
  refetchInterval: POLL_MS,
});

export const makeLeader = (uid: string) =>
  request<ClusterConsole>('POST', `${PATH}/${uid}/actions/lead`);

export const removeConsole = (uid: string) => request<unknown>('DELETE', `${PATH}/${uid}`);
