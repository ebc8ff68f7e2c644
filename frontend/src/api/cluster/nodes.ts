/** API of nodes, node operations and join tokens. */
import { queryOptions, useQuery } from '@tanstack/react-query';
import { getQuery, request } from '../http';
import { streamedList } from '../streamedList';
import type {
  AddressChange,
  JoinToken,
  MachineCheck,
  MaintenanceOff,
  MaintenanceOn,
  Node,
  NodeQueued,
  NodeSnapshot,
  NodeUpdate,
  NodeUpgrades,
} from '../types';

export const nodesQuery = streamedList<Node>('nodes', '/v1/nodes');

export function useNode(uid: number) {
  return useQuery({ ...nodesQuery, select: (list) => list.find((n) => n.uid === uid) ?? null });
}

export const createJoinToken = () => request<JoinToken>('POST', '/v1/join_tokens', {});

export const updateNode = (uid: number, changes: NodeUpdate) =>
  request<Node>('PUT', `/v1/nodes/${uid}`, changes);

/** Settings of the machine, which its agent reports once per minute. */
export const hostChecksQuery = (node: number) =>
  queryOptions({
    queryKey: ['host-checks', node],
    queryFn: getQuery<MachineCheck[]>(`/v1/nodes/${node}/host`),
    refetchInterval: 60_000,
    // No event reports changes.
    staleTime: 0,
  });

/** Rules of the console for the zone of a node. */
export const zoneError = (zone: string): string | undefined =>
  /^([A-Za-z]([A-Za-z0-9_-]{0,61}[A-Za-z0-9])?)?$/.test(zone)
    ? undefined
    : 'Use up to 63 letters, digits, hyphens, and underscores. Start with a letter, and end with a letter or digit.';

/** Return the zones of nodes, sorted. Zones are not case-sensitive; the first spelling is returned. */
export function zonesOf(nodes: readonly Pick<Node, 'rack_id'>[]): string[] {
  const zones = new Map<string, string>();
  for (const { rack_id: zone } of nodes) {
    if (zone && !zones.has(zone.toLowerCase())) zones.set(zone.toLowerCase(), zone);
  }
  return [...zones.values()].sort((a, b) => a.localeCompare(b));
}

export const isInZone = (node: Partial<Pick<Node, 'rack_id' | 'second_rack_id'>>, zone: string) =>
  [node.rack_id, node.second_rack_id].some((each) => each?.toLowerCase() === zone.toLowerCase());

/** Return why the node intentionally gets no shards; null for a node in service. */
export function outOfServiceReason(
  node: Partial<Pick<Node, 'status' | 'in_maintenance'>>,
): string | null {
  if (node.status === 'decommissioning') return 'Being removed';
  return node.in_maintenance ? 'In maintenance' : null;
}

const act = (node: number, action: string, body: object) =>
  request<NodeQueued>('POST', `/v1/nodes/${node}/actions/${action}`, body);

export const startMaintenance = (node: number, body: MaintenanceOn) =>
  act(node, 'maintenance_on', body);

export const endMaintenance = (node: number, body: MaintenanceOff) =>
  act(node, 'maintenance_off', body);

/** Switch the primaries of a node over to their replicas on other nodes. */
export const switchOverNode = (node: number) => act(node, 'enslave_node', {});

/** Query for the endpoint addresses that an operation would remove. Does not start the operation. */
export const nodeAddressesQuery = (node: number, body: 'maintenance_on' | 'remove') =>
  queryOptions({
    queryKey: ['node-addresses', node, body],
    queryFn: getQuery<AddressChange[]>(`/v1/nodes/${node}/address_changes?order=${body}`),
    // Not cached, because the reply can change at any time.
    gcTime: 0,
    staleTime: 0,
  });

export const removeNode = (node: number) => act(node, 'remove', {});

export const snapshotsQuery = (node: number) =>
  queryOptions({
    queryKey: ['snapshots', node],
    queryFn: getQuery<NodeSnapshot[]>(`/v1/nodes/${node}/snapshots`),
    // No event reports new snapshots.
    staleTime: 0,
  });

/** Return the planned upgrade of each database with a shard on the node, without starting it. */
export const previewNodeUpgrade = (node: number, signal: AbortSignal) =>
  request<NodeUpgrades>('POST', `/v1/nodes/${node}/upgrade?dry_run`, {}, signal);

/** Upgrade the databases with a shard on the node to the engine that is installed on their nodes. */
export const upgradeNode = (node: number) =>
  request<NodeUpgrades>('POST', `/v1/nodes/${node}/upgrade`, {});

/** Return the state of an unavailable node; empty for other nodes. A duration can follow the text. */
export function outageText(
  node: Pick<Node, 'status' | 'agent_status'> & Partial<Pick<Node, 'unavailable_since'>>,
): string {
  if (node.status === 'down') return 'down';
  // The shards of the node may still run, but nothing monitors them.
  if (node.agent_status !== 'lost') return '';
  return node.unavailable_since ? 'agent has not responded' : 'agent does not respond';
}

/** Return the cores and the NUMA node of a shard; undefined if the agent has not reported them. */
export function shardCoresText(
  node: Partial<Pick<Node, 'cpu_pinning' | 'cpu_pinning_state'>> | null | undefined,
  uid: string,
): string | undefined {
  const { cpu_pinning: setting, cpu_pinning_state: applied } = node ?? {};
  const found = applied?.shards[uid];
  if (found) return `${found.cores} (NUMA node ${found.numa_nodes})`;
  const isOff = setting?.mode === 'off' && applied?.state === 'off';
  const isProxyOnly =
    setting?.mode === 'cores' && setting.shards === '' && applied?.state === 'active';
  return isOff || isProxyOnly ? 'All cores' : undefined;
}
