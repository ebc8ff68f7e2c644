/** Endpoints of databases, and the proxies that serve them: one per node. */
import { queryOptions } from '@tanstack/react-query';
import { read, request } from './http';
import type { Endpoint, NodeProxy } from './types';

export const PROXY_POLICIES = [
  { value: 'single', label: 'One proxy' },
  { value: 'all-master-shards', label: 'One on every node with primaries' },
  { value: 'all-nodes', label: 'One on every node' },
] as const;

/** Nothing announces that a proxy ended or began. */
const LOOK_AGAIN_MS = 10_000;

export const endpointQuery = (bdb: number) =>
  queryOptions({
    queryKey: ['endpoint', bdb],
    queryFn: read<Endpoint>(`/v1/bdbs/${bdb}/endpoint`),
    refetchInterval: LOOK_AGAIN_MS,
  });

export const proxiesQuery = queryOptions({
  queryKey: ['proxies'],
  queryFn: read<NodeProxy[]>('/v1/proxies'),
  refetchInterval: LOOK_AGAIN_MS,
});

export const updateProxy = (uid: number, proxy: Pick<NodeProxy, 'threads' | 'max_threads'>) =>
  request<NodeProxy>('PUT', `/v1/proxies/${uid}`, { proxy });
