/** Texts about the cores of a node and their use by its processes. Pure functions. */
import type { CpuPinning, Node } from '@/api/types';
import { plural } from '@/lib/format';

/** Return where the processes of a node run, according to its setting. */
export function pinningText({ mode, shards, proxy, cores_per_shard: size }: CpuPinning): string {
  if (mode === 'off') return 'All cores';
  const own = size ? `, ${size} per shard` : '';
  const place =
    mode === 'numa' ? 'one NUMA node each' : shards ? `cores ${shards}${own}` : 'all cores';
  return `Shards: ${place}. Proxy: ${proxy ? `cores ${proxy}` : 'all cores'}`;
}

/** Return the number of cores, with their NUMA nodes and hyper-threads. */
export function coresText({ cores, cpus }: Pick<Node, 'cores'> & Partial<Pick<Node, 'cpus'>>) {
  const numa = cpus?.numa_nodes.filter((each) => each.cores) ?? [];
  const details = [
    numa.length > 1 && numa.map((each) => `NUMA node ${each.id}: ${each.cores}`).join(', '),
    cpus?.siblings.length &&
      `${plural(cpus.siblings.length, 'physical core')} with several threads`,
    cpus?.offline && `offline: ${cpus.offline}`,
  ].filter(Boolean);
  return details.length ? `${cores} (${details.join('; ')})` : String(cores);
}
