/** API of shards. One cached list has all shards of the cluster; views filter it. */
import { useQuery } from '@tanstack/react-query';
import { request } from '../http';
import { streamedList } from '../streamedList';
import type { MigrationReply, RestartReply, RestartRequest, Shard } from '../types';

export const shardsQuery = streamedList<Shard>('shards', '/v1/shards');

/** Return whether the process of the shard is not running or does not respond. */
export const isShardDown = (shard: Shard): boolean =>
  shard.status === 'inactive' && !isShardStarting(shard);

/** Return whether the shard has not been seen running yet. */
export const isShardStarting = (shard: Shard): boolean => shard.detailed_status === 'unknown';

/** Return whether the shard is a primary by its observed role, or by its configured role if none was observed. */
export function isPrimary({ role, actual_role: actual }: Shard): boolean {
  return (actual === 'master' || actual === 'slave' ? actual : role) === 'master';
}

/** Return the replicas that can be promoted in the place of a primary. */
export const promotableReplicas = (primary: Shard, shards: readonly Shard[]): Shard[] =>
  shards.filter(
    ({ bdb_uid, pair, role, detailed_status: state }) =>
      bdb_uid === primary.bdb_uid && pair === primary.pair && role === 'slave' && state === 'ok',
  );

export function useBdbShards(bdbUid: number) {
  return useQuery({
    ...shardsQuery,
    select: (list) => list.filter((shard) => shard.bdb_uid === bdbUid),
  });
}

export function useNodeShards(nodeUid: number) {
  return useQuery({
    ...shardsQuery,
    select: (list) => list.filter((shard) => shard.node_uid === String(nodeUid)),
  });
}

/** Switch over from this primary to its replica. */
export const failOver = (uid: string) =>
  request<{ action_uid: string }>('POST', `/v1/shards/${uid}/actions/failover`, {});

/** Start a dead shard from its persistence, or empty. A dry run only reports which data would be lost. */
export const restartShard = (uid: string, body: RestartRequest) =>
  request<RestartReply>('POST', `/v1/shards/${uid}/actions/restart`, body);

const migrate = (uid: string, target: number, dryRun: boolean, signal?: AbortSignal) =>
  request<MigrationReply>(
    'POST',
    `/v1/shards/${uid}/actions/migrate`,
    { target_node_uid: target, dry_run: dryRun },
    signal,
  );

export const migrateShard = (uid: string, target: number) => migrate(uid, target, false);

/** Validate a move without starting it. */
export const previewMigration = (uid: string, target: number, signal: AbortSignal) =>
  migrate(uid, target, true, signal);
