/** The cluster object. */
import { queryOptions } from '@tanstack/react-query';
import { request } from './http';
import type { Cluster } from './types';

export const clusterQuery = queryOptions({
  queryKey: ['cluster'],
  queryFn: () => request<Cluster>('GET', '/v1/cluster'),
});
