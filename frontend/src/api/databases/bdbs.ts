/** API of databases. The list is the only cached copy; single databases are selected from it. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { usePermission } from '../access/session';
import { getQuery, request } from '../http';
import { streamedList } from '../streamedList';
import type {
  AddressChange,
  Bdb,
  BlueprintPair,
  CreateBdb,
  RebalanceReply,
  RepairReply,
  RepairRequest,
  ReshardRequest,
  TrafficReply,
  UpdateBdb,
  UpgradePlan,
} from '../types';
import { withDisplayNames } from './displayNames';

export const bdbsQuery = streamedList<Bdb>('bdbs', '/v1/bdbs');

/** Databases for display: equal names contain the uid. */
export const shownBdbsQuery = { ...bdbsQuery, select: withDisplayNames<Bdb> };

/** Databases for display, without the temporary ones of verifications. */
export const keptBdbsQuery = {
  ...bdbsQuery,
  select: (bdbs: readonly Bdb[]) => withDisplayNames(bdbs).filter(({ internal }) => !internal),
};

/** Return the name of a database for display; `name` if the database does not exist any longer. */
export function useDatabaseName({ uid, name }: Pick<Bdb, 'uid' | 'name'>): string {
  return useQuery(shownBdbsQuery).data?.find((bdb) => bdb.uid === uid)?.name ?? name;
}

export function useBdb(uid: number) {
  return useQuery({ ...bdbsQuery, select: (list) => list.find((bdb) => bdb.uid === uid) ?? null });
}

/** Return the sum of the memory limits of all databases in bytes; undefined while it is unknown, or if the user cannot view all databases. */
export function useProvisioned(): number | undefined {
  const bdbs = useQuery(bdbsQuery).data;
  const canSeeAll = usePermission('seeAll');
  return canSeeAll ? bdbs?.reduce((sum, bdb) => sum + bdb.memory_size, 0) : undefined;
}

const DUPLICATE_NAME = 'allow_duplicate_name=true';

export const createPath = (allowDuplicateName: boolean) =>
  allowDuplicateName ? `/v1/bdbs?${DUPLICATE_NAME}` : '/v1/bdbs';

export const createBdb = (body: CreateBdb, allowDuplicateName: boolean) =>
  request<Bdb>('POST', createPath(allowDuplicateName), body);

/** Return the planned shard placement of a new database without creating it. */
export const previewCreate = async (body: CreateBdb, signal?: AbortSignal) => {
  const bdb = await request<{ shards_blueprint: BlueprintPair[] }>(
    'POST',
    `${createPath(true)}&dry_run`,
    body,
    signal,
  );
  return bdb.shards_blueprint;
};

const updateBdb = (uid: number, body: UpdateBdb, allowDuplicateName: boolean) =>
  request<Bdb>('PUT', `/v1/bdbs/${uid}${allowDuplicateName ? `?${DUPLICATE_NAME}` : ''}`, body);

/** Return a function that updates a database and stores the reply in the query cache. */
export function useUpdateBdb(uid: number) {
  const client = useQueryClient();
  return async (body: UpdateBdb, allowDuplicateName = false) => {
    const saved = await updateBdb(uid, body, allowDuplicateName);
    client.setQueryData(bdbsQuery.queryKey, (list) =>
      list?.map((item) => (item.uid === saved.uid ? saved : item)),
    );
  };
}

const passwords = (method: 'PUT' | 'POST' | 'DELETE') => (uid: number, password: string) =>
  request<{ action_uid?: string }>(method, `/v1/bdbs/${uid}/passwords`, { password });

/** Replace all passwords of the default user with this one. */
export const replacePassword = passwords('PUT');
/** Add a password of the default user. */
export const addPassword = passwords('POST');
/** Remove a password of the default user. The last one cannot be removed this way. */
export const removePassword = passwords('DELETE');

export const flushBdb = (uid: number) => request<Bdb>('PUT', `/v1/bdbs/${uid}/flush`, {});

/** Generate a new password for the internal user with which console and agents control the shards. */
export const resetAdminPassword = (uid: number) =>
  request<Bdb>('PUT', `/v1/bdbs/${uid}/reset_admin_pass`, {});

/** Close the endpoints: clients are disconnected and cannot connect until traffic is resumed. */
export const stopTraffic = (uid: number) =>
  request<TrafficReply>('POST', `/v1/bdbs/${uid}/actions/stop_traffic`);

export const resumeTraffic = (uid: number) =>
  request<TrafficReply>('POST', `/v1/bdbs/${uid}/actions/resume_traffic`);

/** Make the store match the shards that agents report. A dry run only returns the changes. */
export const repairBdb = (uid: number, body: RepairRequest) =>
  request<RepairReply>('POST', `/v1/bdbs/${uid}/actions/repair`, body);

export const deleteBdb = (uid: number) => request<unknown>('DELETE', `/v1/bdbs/${uid}`);

/** Validate an update without applying it. */
export const checkUpdate = (uid: number, body: UpdateBdb, signal?: AbortSignal) =>
  request<Bdb>('PUT', `/v1/bdbs/${uid}?dry_run&${DUPLICATE_NAME}`, body, signal);

/** Return the planned replication pairs of a changed shard count or replication setting. */
export const previewReshard = (uid: number, body: ReshardRequest, signal?: AbortSignal) =>
  request<BlueprintPair[]>('PUT', `/v1/bdbs/${uid}/actions/revamp?dry_run`, body, signal);

const rebalancePath = (uid: number, handoversOnly: boolean) =>
  `/v1/bdbs/${uid}/actions/rebalance?only_failovers=${handoversOnly}`;

/** Return the replication pairs that a rebalance would produce. */
export const previewRebalance = (uid: number, handoversOnly: boolean, signal: AbortSignal) =>
  request<BlueprintPair[]>('PUT', `${rebalancePath(uid, handoversOnly)}&dry_run`, {}, signal);

/** Query for the endpoint addresses that a rebalance would remove. */
export const rebalanceAddresses = (uid: number, handoversOnly: boolean) =>
  getQuery<AddressChange[]>(`/v1/bdbs/${uid}/address_changes?only_failovers=${handoversOnly}`);

export const rebalance = (uid: number, handoversOnly: boolean) =>
  request<RebalanceReply>('PUT', rebalancePath(uid, handoversOnly), {});

/** Switch primaries that were lost with their node back to it. */
export const switchBackPrimaries = (uid: number) =>
  request<RebalanceReply>('PUT', `/v1/bdbs/${uid}/actions/return_primaries`);

/** Return the steps of an upgrade to the engine that is installed on the nodes; empty if all shards already run it. */
export const previewUpgrade = (uid: number, signal: AbortSignal) =>
  request<UpgradePlan>('POST', `/v1/bdbs/${uid}/upgrade?dry_run`, {}, signal);

export const upgradeBdb = (uid: number) => request<Bdb>('POST', `/v1/bdbs/${uid}/upgrade`, {});
