/** Texts about the shards on a node and the consequences of its removal. Pure. */
import type { Node, Shard } from '@/api/types';
import { plural } from '@/lib/format';

export function nodeShardsText(uid: number, shards: readonly Shard[] | undefined): string {
  if (!shards) return `The shards of node ${uid} are not loaded yet.`;
  if (!shards.length) return `Node ${uid} holds no shards.`;
  const primaries = shards.filter(({ role }) => role === 'master').length;
  const replicas = shards.length - primaries;
  const parts = [
    ...(primaries ? [plural(primaries, 'primary', 'primaries')] : []),
    ...(replicas ? [plural(replicas, 'replica')] : []),
  ];
  return `Node ${uid} holds ${parts.join(' and ')}.`;
}

export function nodeRemovalText(node: Node, shards: readonly Shard[] | undefined): string {
  const shardsText = nodeShardsText(node.uid, shards);
  const end = 'Then the node leaves the cluster. To use the machine again, join it as a new node.';
  if (!shards?.length) return `${shardsText} ${end}`;
  const isUnreachable = node.status === 'down' || node.agent_status !== 'connected';
  return isUnreachable
    ? `${shardsText} The node is unreachable. Its shards are rebuilt on other nodes from their remaining copies. Without enough memory on other nodes, the remaining copies have no replicas. ${end}`
    : `${shardsText} They move to other nodes first. ${end}`;
}
