/** Nodes, what can be ordered of them, and the token that lets a new one join. */
import { queryOptions, useQuery } from '@tanstack/react-query';
import { followed } from './followed';
import { read, request } from './http';
import type {
  AddressChange,
  JoinToken,
  MaintenanceOff,
  MaintenanceOn,
  Node,
  NodeQueued,
  NodeSnapshot,
  NodeUpgrades,
} from './types';

export const nodesQuery = followed<Node>('nodes', '/v1/nodes');

export function useNode(uid: number) {
  return useQuery({ ...nodesQuery, select: (list) => list.find((n) => n.uid === uid) ?? null });
}

export const createJoinToken = () => request<JoinToken>('POST', '/v1/join_tokens', {});

/** Why it gets no shards on purpose, in words; null for a node in service. */
export function dutyOf(node: Partial<Pick<Node, 'status' | 'in_maintenance'>>): string | null {
  if (node.status === 'decommissioning') return 'Being removed';
  return node.in_maintenance ? 'In maintenance' : null;
}

const act = (node: number, action: string, body: object) =>
  request<NodeQueued>('POST', `/v1/nodes/${node}/actions/${action}`, body);

export const beginMaintenance = (node: number, order: MaintenanceOn) =>
  act(node, 'maintenance_on', order);

export const endMaintenance = (node: number, order: MaintenanceOff) =>
  act(node, 'maintenance_off', order);

/** Its primaries hand over to their replicas elsewhere. */
export const handOver = (node: number) => act(node, 'enslave_node', {});

/** Addresses that clients must leave when this is ordered; nothing is. */
export const nodeAddressesQuery = (node: number, order: 'maintenance_on' | 'remove') =>
  queryOptions({
    queryKey: ['node-addresses', node, order],
    queryFn: read<AddressChange[]>(`/v1/nodes/${node}/address_changes?order=${order}`),
    // What would change a moment ago may not any more.
    gcTime: 0,
    staleTime: 0,
  });

export const removeNode = (node: number) => act(node, 'remove', {});

export const snapshotsQuery = (node: number) =>
  queryOptions({
    queryKey: ['snapshots', node],
    queryFn: read<NodeSnapshot[]>(`/v1/nodes/${node}/snapshots`),
    // Nothing announces them.
    staleTime: 0,
  });

/** What would become of each database with a shard on the node; nothing is ordered. */
export const previewNodeUpgrade = (node: number, signal: AbortSignal) =>
  request<NodeUpgrades>('POST', `/v1/nodes/${node}/upgrade?dry_run`, {}, signal);

/** They get the engine that their nodes have now. */
export const upgradeNode = (node: number) =>
  request<NodeUpgrades>('POST', `/v1/nodes/${node}/upgrade`, {});

/** Of a node that is not there; a duration may follow. */
export function lossOf(
  node: Pick<Node, 'status' | 'agent_status'> & Partial<Pick<Node, 'unavailable_since'>>,
): string {
  if (node.status === 'down') return 'down';
  // Its shards may well be running: nobody watches them.
  if (node.agent_status !== 'lost') return '';
  return node.unavailable_since ? 'agent has not answered' : 'agent does not answer';
}
