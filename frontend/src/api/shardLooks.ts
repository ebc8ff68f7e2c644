/** What a shard's engine tells of itself. The engine is asked when this is called, so only while it is looked at. */
import { queryOptions } from '@tanstack/react-query';
import { request } from './http';
import type { EngineInfo, ShardClients, SlowLog } from './types';

const LOOK_AGAIN_MS = 5_000;

export const slowLogQuery = (shard: string) =>
  queryOptions({
    queryKey: ['slow-log', shard],
    queryFn: ({ signal }) =>
      request<SlowLog>('GET', `/v1/shards/${shard}/slowlog`, undefined, signal),
    refetchInterval: LOOK_AGAIN_MS,
    retry: false,
  });

export const shardClientsQuery = (shard: string) =>
  queryOptions({
    queryKey: ['shard-clients', shard],
    queryFn: ({ signal }) =>
      request<ShardClients>('GET', `/v1/shards/${shard}/clients`, undefined, signal),
    refetchInterval: LOOK_AGAIN_MS,
    retry: false,
  });

export const engineInfoQuery = (shard: string) =>
  queryOptions({
    queryKey: ['engine-info', shard],
    queryFn: ({ signal }) =>
      request<EngineInfo>('GET', `/v1/shards/${shard}/info`, undefined, signal),
    refetchInterval: LOOK_AGAIN_MS,
    retry: false,
  });
