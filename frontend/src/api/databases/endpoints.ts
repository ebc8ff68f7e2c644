/** API of database endpoints and of the proxies that serve them. Each node has one proxy. */
import { queryOptions } from '@tanstack/react-query';
import { getQuery, request } from '../http';
import type { Endpoint, NodeProxy } from '../types';

export const PROXY_POLICIES = [
  { value: 'single', label: 'One proxy' },
  { value: 'all-master-shards', label: 'One on every node with primaries' },
  { value: 'all-nodes', label: 'One on every node' },
] as const;

/** Polling interval, because no event reports that a proxy started or ended. */
const POLL_MS = 10_000;

export const endpointQuery = (bdb: number) =>
  queryOptions({
    queryKey: ['endpoint', bdb],
    queryFn: getQuery<Endpoint>(`/v1/bdbs/${bdb}/endpoint`),
    refetchInterval: POLL_MS,
  });

export const proxiesQuery = queryOptions({
  queryKey: ['proxies'],
  queryFn: getQuery<NodeProxy[]>('/v1/proxies'),
  refetchInterval: POLL_MS,
});

export const updateProxy = (uid: number, proxy: Pick<NodeProxy, 'threads' | 'max_threads'>) =>
  request<NodeProxy>('PUT', `/v1/proxies/${uid}`, { proxy });
