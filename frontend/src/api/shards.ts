/** Shards of the whole cluster: one cached list, filtered where it is shown. */
import { useQuery } from '@tanstack/react-query';
import { followed } from './followed';
import { request } from './http';
import type { MigrationReply, RestartOrder, RestartReply, Shard } from './types';

export const shardsQuery = followed<Shard>('shards', '/v1/shards');

/** Its process does not run, or does not answer. */
export const isShardDown = (shard: Shard): boolean =>
  shard.status === 'inactive' && !isShardStarting(shard);

/** Nobody has seen it run yet. */
export const isShardStarting = (shard: Shard): boolean => shard.detailed_status === 'unknown';

/** As seen, where it is seen; else as wanted. */
export function isPrimary({ role, actual_role: actual }: Shard): boolean {
  return (actual === 'master' || actual === 'slave' ? actual : role) === 'master';
}

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

/** Lets the replica take over from this primary. */
export const failOver = (uid: string) =>
  request<{ action_uid: string }>('POST', `/v1/shards/${uid}/actions/failover`, {});

/** Starts a dead shard from its persistence, or empty; a dry run only says what would be lost. */
export const restartShard = (uid: string, order: RestartOrder) =>
  request<RestartReply>('POST', `/v1/shards/${uid}/actions/restart`, order);

const migrate = (uid: string, target: number, dryRun: boolean, signal?: AbortSignal) =>
  request<MigrationReply>(
    'POST',
    `/v1/shards/${uid}/actions/migrate`,
    { target_node_uid: target, dry_run: dryRun },
    signal,
  );

export const migrateShard = (uid: string, target: number) => migrate(uid, target, false);

/** Whether that can be done; nothing moves. */
export const previewMigration = (uid: string, target: number, signal: AbortSignal) =>
  migrate(uid, target, true, signal);
