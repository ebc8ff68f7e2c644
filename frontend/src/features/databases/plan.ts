/** What a draft will make, in plain words. Pure. */
import type { Node } from '@/api/types';
import { format, plural } from '@/lib/format';
import { type CreateDraft, DURABILITY, memoryBytes } from './draft';

export function planWords(draft: CreateDraft, nodes: readonly Node[]): string[] {
  const primaries = draft.sharding ? Number(draft.shards_count) : 1;
  if (!Number.isInteger(primaries) || primaries < 1) return [];
  const total = draft.replication ? primaries * 2 : primaries;
  const bytes = memoryBytes(draft);
  return [
    shardWords(primaries, draft.replication),
    placeWords(draft, total, nodes),
    bytes > 0 ? memoryWords(bytes, total, draft.replication) : 'No memory limit',
    ...(primaries > 1 ? [slotWords(primaries)] : []),
    accessWords(draft),
    durabilityWords(draft),
  ];
}

function shardWords(primaries: number, replication: boolean): string {
  if (!replication) return `${plural(primaries, 'primary shard')}, no replicas`;
  if (primaries === 1) return 'One primary shard with a replica on another node';
  return `${plural(primaries, 'primary shard')}, each with a replica on another node`;
}

function placeWords(draft: CreateDraft, total: number, nodes: readonly Node[]): string {
  const names = nodes.map((node) => `node ${node.uid}`);
  if (!names.length) return 'No node can take shards: add one first';
  if (draft.shards_placement === 'dense') {
    if (total === 1) return `Placed on one of ${plural(names.length, 'node')}`;
    return `${plural(total, 'shard')} packed on as few of ${plural(names.length, 'node')} as can hold them`;
  }
  const used = names.slice(0, Math.min(total, names.length));
  const low = Math.floor(total / used.length);
  const high = Math.ceil(total / used.length);
  const each = low === high ? `${low}` : `${low} to ${high}`;
  const where = used.length > 6 ? plural(used.length, 'node') : used.join(', ');
  return `${plural(total, 'shard')} spread over ${where}: ${each} on each`;
}

function memoryWords(bytes: number, total: number, replication: boolean): string {
  const each = `${format('bytes', bytes / total)} per shard`;
  if (!replication) return `${format('bytes', bytes)} of memory, ${each}`;
  return `${format('bytes', bytes)} of memory with replicas, ${each}; ${format('bytes', bytes / 2)} for your data`;
}

function slotWords(primaries: number): string {
  const low = Math.floor(16_384 / primaries);
  const about = 16_384 % primaries ? 'about ' : '';
  return `16,384 hash slots, ${about}${low.toLocaleString('en-US')} per primary`;
}

function accessWords(draft: CreateDraft): string {
  const port = draft.port.trim() ? `port ${draft.port}` : 'a free port';
  const api = draft.oss_cluster ? 'with the cluster API' : 'as one endpoint';
  const password = draft.password ? 'with a password' : 'without a password';
  return `Reached on ${port} ${api}, ${draft.tls ? 'over TLS' : 'unencrypted'}, ${password}`;
}

function durabilityWords(draft: CreateDraft): string {
  if (draft.durability === 'none') return 'Nothing on disk: data lives in memory only';
  const label = DURABILITY.find(({ value }) => value === draft.durability)?.label ?? '';
  return `On disk: ${label.charAt(0).toLowerCase()}${label.slice(1)}`;
}
