/** Endpoints of databases, and the proxies that serve them: one per node. */
import { queryOptions } from '@tanstack/react-query';
import { request } from './http';

export type ProxyStatus = 'active' | 'down' | 'pending' | 'idle' | 'unknown';

export const PROXY_POLICIES = [
  { value: 'single', label: 'One proxy' },
  { value: 'all-master-shards', label: 'One on every node with primaries' },
  { value: 'all-nodes', label: 'One on every node' },
] as const;

/** A proxy as one database sees it. */
export interface EndpointProxy {
  /** Of its node. */
  uid: number;
  address: string;
  status: ProxyStatus;
  detail: string;
  threads: number | null;
  connections: number | null;
}

export interface Endpoint {
  uid: string;
  port: number;
  proxy_policy: string;
  mode: 'oss_cluster' | 'hidden';
  tls: boolean;
  authentication: boolean;
  proxies: EndpointProxy[];
}

/** A proxy as its node has it. */
export interface NodeProxy {
  uid: number;
  threads: number;
  max_threads: number;
  version: string;
  status: ProxyStatus;
  detail: string;
  pid: number | null;
  connections: number | null;
}

/** Nothing announces that a proxy ended or began. */
const LOOK_AGAIN_MS = 5_000;

export const endpointQuery = (bdb: number) =>
  queryOptions({
    queryKey: ['endpoint', bdb],
    queryFn: () => request<Endpoint>('GET', `/v1/bdbs/${bdb}/endpoint`),
    refetchInterval: LOOK_AGAIN_MS,
  });

export const proxiesQuery = queryOptions({
  queryKey: ['proxies'],
  queryFn: () => request<NodeProxy[]>('GET', '/v1/proxies'),
  refetchInterval: LOOK_AGAIN_MS,
});

export const updateProxy = (uid: number, proxy: Pick<NodeProxy, 'threads' | 'max_threads'>) =>
  request<NodeProxy>('PUT', `/v1/proxies/${uid}`, { proxy });
