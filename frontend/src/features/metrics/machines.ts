/** Deduplication of nodes that run on the same machine. Pure. */
import type { Node } from '@/api/types';

/**
 * Return the uid of one node per machine, the lowest one. Nodes on the same machine report the same
 * processor, memory and disk, which must not be counted twice.
 */
export function onePerMachine(nodes: readonly Pick<Node, 'uid' | 'machine_id'>[]): string[] {
  const nodeByMachine = new Map<string, number>();
  for (const { uid, machine_id } of [...nodes].sort((a, b) => a.uid - b.uid)) {
    const machine = machine_id || String(uid);
    if (!nodeByMachine.has(machine)) nodeByMachine.set(machine, uid);
  }
  return [...nodeByMachine.values()].map(String);
}
