/** Nodes that share a machine see the same processor, memory and disk: one of them speaks for it. Pure. */
import type { Node } from '@/api/types';

export function onePerMachine(nodes: readonly Pick<Node, 'uid' | 'machine_id'>[]): string[] {
  const found = new Map<string, number>();
  for (const { uid, machine_id } of [...nodes].sort((a, b) => a.uid - b.uid)) {
    const machine = machine_id || String(uid);
    if (!found.has(machine)) found.set(machine, uid);
  }
  return [...found.values()].map(String);
}
