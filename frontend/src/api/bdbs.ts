/** Databases. The list is the one cached copy; a single database is picked out of it. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { followed } from './followed';
import { read, request } from './http';
import { useMay } from './session';
import type {
  AddressChange,
  Bdb,
  BlueprintPair,
  CreateBdb,
  RebalanceReply,
  RevampOrder,
  TrafficReply,
  UpdateBdb,
  UpgradePlan,
} from './types';

export const bdbsQuery = followed<Bdb>('bdbs', '/v1/bdbs');

export function useBdb(uid: number) {
  return useQuery({ ...bdbsQuery, select: (list) => list.find((bdb) => bdb.uid === uid) ?? null });
}

/** Bytes that all databases together may use; undefined until that is known, and to whom not all are shown. */
export function useProvisioned(): number | undefined {
  const bdbs = useQuery(bdbsQuery).data;
  const seesAll = useMay('seeAll');
  return seesAll ? bdbs?.reduce((sum, bdb) => sum + bdb.memory_size, 0) : undefined;
}

export const createBdb = (body: CreateBdb) => request<Bdb>('POST', '/v1/bdbs', body);

/** Where the shards of a database would be; nothing is made. */
export const previewCreate = async (body: CreateBdb, signal?: AbortSignal) => {
  const bdb = await request<{ shards_blueprint: BlueprintPair[] }>(
    'POST',
    '/v1/bdbs?dry_run',
    body,
    signal,
  );
  return bdb.shards_blueprint;
};

const updateBdb = (uid: number, body: UpdateBdb) => request<Bdb>('PUT', `/v1/bdbs/${uid}`, body);

/** Changes a database; what it is then is seen at once, everywhere. */
export function useUpdateBdb(uid: number) {
  const client = useQueryClient();
  return async (body: UpdateBdb) => {
    const saved = await updateBdb(uid, body);
    client.setQueryData(bdbsQuery.queryKey, (list) =>
      list?.map((item) => (item.uid === saved.uid ? saved : item)),
    );
  };
}

const passwords = (method: 'PUT' | 'POST' | 'DELETE') => (uid: number, password: string) =>
  request<{ action_uid?: string }>(method, `/v1/bdbs/${uid}/passwords`, { password });

/** From now on only this password lets the default user in. */
export const replacePassword = passwords('PUT');
/** This one lets it in, too. */
export const addPassword = passwords('POST');
/** This one does not any more; the only one cannot be removed so. */
export const removePassword = passwords('DELETE');

export const flushBdb = (uid: number) => request<Bdb>('PUT', `/v1/bdbs/${uid}/flush`, {});

/** Another password, which nobody knows, for the user as which console and agents command its shards. */
export const resetAdminPassword = (uid: number) =>
  request<Bdb>('PUT', `/v1/bdbs/${uid}/reset_admin_pass`, {});

/** Closes its endpoints: clients are disconnected, and nobody can connect until traffic is resumed. */
export const stopTraffic = (uid: number) =>
  request<TrafficReply>('POST', `/v1/bdbs/${uid}/actions/stop_traffic`);

export const resumeTraffic = (uid: number) =>
  request<TrafficReply>('POST', `/v1/bdbs/${uid}/actions/resume_traffic`);

export const deleteBdb = (uid: number) => request<unknown>('DELETE', `/v1/bdbs/${uid}`);

/** Whether the console would do it; nothing is changed. */
export const checkUpdate = (uid: number, body: UpdateBdb, signal?: AbortSignal) =>
  request<Bdb>('PUT', `/v1/bdbs/${uid}?dry_run`, body, signal);

/** The pairs as they would be with another shape. */
export const previewRevamp = (uid: number, body: RevampOrder, signal?: AbortSignal) =>
  request<BlueprintPair[]>('PUT', `/v1/bdbs/${uid}/actions/revamp?dry_run`, body, signal);

const rebalancePath = (uid: number, handoversOnly: boolean) =>
  `/v1/bdbs/${uid}/actions/rebalance?only_failovers=${handoversOnly}`;

/** The pairs as a rebalance would leave them. */
export const previewRebalance = (uid: number, handoversOnly: boolean, signal: AbortSignal) =>
  request<BlueprintPair[]>('PUT', `${rebalancePath(uid, handoversOnly)}&dry_run`, {}, signal);

/** Addresses that clients must leave when it is rebalanced. */
export const rebalanceAddresses = (uid: number, handoversOnly: boolean) =>
  read<AddressChange[]>(`/v1/bdbs/${uid}/address_changes?only_failovers=${handoversOnly}`);

export const rebalance = (uid: number, handoversOnly: boolean) =>
  request<RebalanceReply>('PUT', rebalancePath(uid, handoversOnly), {});

/** Gives primaries that were lost with their node the lead back. */
export const returnPrimaries = (uid: number) =>
  request<RebalanceReply>('PUT', `/v1/bdbs/${uid}/actions/return_primaries`);

/** The steps of an upgrade to the engine that the nodes have now; none when all shards run it. */
export const previewUpgrade = (uid: number, signal: AbortSignal) =>
  request<UpgradePlan>('POST', `/v1/bdbs/${uid}/upgrade?dry_run`, {}, signal);

export const upgradeBdb = (uid: number) => request<Bdb>('POST', `/v1/bdbs/${uid}/upgrade`, {});
