/** Summary of the database that a draft creates. Pure functions. */
import type { BlueprintPair } from '@/api/types';
import { format, plural } from '@/lib/format';
import { ramBytes } from '../fields/flashMemory';
import { type CreateDraft, DURABILITY, memoryBytes } from './createDraft';

/** With more nodes, only their number is shown. */
const MAX_NODES_LISTED = 6;

export function draftSummary(
  draft: CreateDraft,
  blueprint: readonly BlueprintPair[] | null,
): string[] {
  const primaries = draft.sharding ? Number(draft.shards_count) : 1;
  if (!Number.isInteger(primaries) || primaries < 1) return [];
  const total = draft.replication ? primaries * 2 : primaries;
  const bytes = memoryBytes(draft);
  return [
    shardText(primaries, draft.replication, draft.rack_aware === true),
    ...(blueprint ? [placementText(blueprint)] : []),
    // Larger numbers are rejected.
    ...(Number.isSafeInteger(bytes)
      ? [bytes > 0 ? memoryText(bytes, total, draft.replication) : 'No memory limit']
      : []),
    ...(draft.flash && bytes > 0 ? [flashText(bytes, draft.ram_percent, total)] : []),
    ...(primaries > 1 ? [slotText(primaries)] : []),
    accessText(draft),
    ...(draft.durability === 'none' ? [] : [durabilityText(draft)]),
  ];
}

function shardText(primaries: number, replication: boolean, rackAware: boolean): string {
  const other = rackAware ? 'in another zone' : 'on another node';
  if (!replication) return `${plural(primaries, 'primary shard')}, no replicas`;
  if (primaries === 1) return `One primary shard with a replica ${other}`;
  return `${plural(primaries, 'primary shard')}, each with a replica ${other}`;
}

/** Describe the placement that the console planned. */
export function placementText(blueprint: readonly BlueprintPair[]): string {
  const counts = new Map<number, { master: number; slave: number }>();
  for (const { node_uid, role } of blueprint.flatMap(({ nodes }) => nodes)) {
    const count = counts.get(Number(node_uid)) ?? { master: 0, slave: 0 };
    count[role as 'master' | 'slave'] += 1;
    counts.set(Number(node_uid), count);
  }
  const nodes = [...counts].sort(([a], [b]) => a - b);
  if (nodes.length > MAX_NODES_LISTED) return `Placement: ${plural(nodes.length, 'node')}`;
  const lines = nodes.map(([node, { master, slave }]) => {
    const parts = [
      master && plural(master, 'primary', 'primaries'),
      slave && plural(slave, 'replica'),
    ];
    return `node ${node}: ${parts.filter(Boolean).join(' and ')}`;
  });
  return `Placement: ${lines.join('; ')}`;
}

function memoryText(bytes: number, total: number, replication: boolean): string {
  const perShard = `${format('bytes', bytes / total)} per shard`;
  if (!replication) return `${format('bytes', bytes)} of memory, ${perShard}`;
  return `${format('bytes', bytes)} of memory including replicas, ${perShard}; ${format('bytes', bytes / 2)} for your data`;
}

function flashText(bytes: number, percent: number, total: number): string {
  const ram = ramBytes(bytes, percent);
  const perShard = total > 1 ? `, ${format('bytes', ram / total)} of RAM per shard` : '';
  return `On flash: ${format('bytes', ram)} in RAM, ${format('bytes', bytes - ram)} on flash${perShard}`;
}

function slotText(primaries: number): string {
  const low = Math.floor(16_384 / primaries);
  const about = 16_384 % primaries ? 'about ' : '';
  return `16,384 hash slots, ${about}${low.toLocaleString('en-US')} per primary`;
}

function accessText(draft: CreateDraft): string {
  const port = draft.port.trim() ? `port ${draft.port}` : 'a free port';
  const api = draft.oss_cluster ? 'with the cluster API' : 'as one endpoint';
  const password = draft.password ? 'with a password' : 'without a password';
  return `Reachable on ${port} ${api}, ${draft.tls ? 'over TLS' : 'unencrypted'}, ${password}`;
}

function durabilityText(draft: CreateDraft): string {
  const label = DURABILITY.find(({ value }) => value === draft.durability)?.label ?? '';
  return `Persistence: ${label.charAt(0).toLowerCase()}${label.slice(1)}`;
}
