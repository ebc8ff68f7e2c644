/** What a shard's engine tells of itself. The engine is asked when this is called, so only while it is looked at. */
import { queryOptions } from '@tanstack/react-query';
import { read } from './http';
import type { EngineInfo, ShardClients, SlowLog } from './types';

const LOOK_AGAIN_MS = 5_000;

const look =
  <T>(what: string) =>
  (shard: string) =>
    queryOptions({
      queryKey: ['shard-looks', shard, what],
      queryFn: read<T>(`/v1/shards/${shard}/${what}`),
      refetchInterval: LOOK_AGAIN_MS,
      retry: false,
    });

export const slowLogQuery = look<SlowLog>('slowlog');
export const shardClientsQuery = look<ShardClients>('clients');
export const engineInfoQuery = look<EngineInfo>('info');
