/** What is on a node, and what its removal means. Pure. */
import type { Node, Shard } from '@/api/types';
import { plural } from '@/lib/format';

export function heldWords(uid: number, shards: readonly Shard[]): string {
  if (!shards.length) return `Node ${uid} holds no shards.`;
  const primaries = shards.filter(({ role }) => role === 'master').length;
  const replicas = shards.length - primaries;
  const parts = [
    ...(primaries ? [plural(primaries, 'primary', 'primaries')] : []),
    ...(replicas ? [plural(replicas, 'replica')] : []),
  ];
  return `Node ${uid} holds ${parts.join(' and ')}.`;
}

export function removalWords(node: Node, shards: readonly Shard[]): string {
  const held = heldWords(node.uid, shards);
  const end = 'Then the cluster forgets the node; to come back, it joins anew.';
  if (!shards.length) return `${held} ${end}`;
  const dead = node.status === 'down' || node.agent_status !== 'connected';
  return dead
    ? `${held} It does not answer: they are made anew on other nodes from the other copy of each pair, or given up where there is no room. ${end}`
    : `${held} They move to other nodes first. ${end}`;
}
