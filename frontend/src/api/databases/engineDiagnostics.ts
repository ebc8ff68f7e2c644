/** API of live data of a shard's engine. Each request queries the engine, so poll only while the result is displayed. */
import { queryOptions } from '@tanstack/react-query';
import { getQuery } from '../http';
import type { EngineInfo, ShardClients, SlowLog } from '../types';

const POLL_MS = 5_000;

const engineQuery =
  <T>(kind: string) =>
  (shard: string) =>
    queryOptions({
      queryKey: ['shard-diagnostics', shard, kind],
      queryFn: getQuery<T>(`/v1/shards/${shard}/${kind}`),
      refetchInterval: POLL_MS,
      retry: false,
    });

export const slowLogQuery = engineQuery<SlowLog>('slowlog');
export const shardClientsQuery = engineQuery<ShardClients>('clients');
export const engineInfoQuery = engineQuery<EngineInfo>('info');
