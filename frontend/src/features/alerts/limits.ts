/** Alert thresholds with their labels, and the changes that the form sends. Pure. */
import type { Wanted, WantedByName } from '@/api/alerts';

export interface Limit {
  name: string;
  label: string;
  /** Unit of the threshold; undefined for alerts without a threshold. */
  unit?: string;
  /** Default threshold, shown until a different one is set. */
  usual?: string;
  /** Maximum threshold. */
  most?: number;
  /** Whether the threshold must be an integer. */
  whole?: boolean;
}

const percent = { unit: '%', most: 100 };

export const OF_DATABASE: readonly Limit[] = [
  { name: 'bdb_size', label: 'Memory usage above', ...percent },
  { name: 'bdb_high_throughput', label: 'Throughput above', unit: 'ops/s' },
  { name: 'bdb_low_throughput', label: 'Throughput below', unit: 'ops/s' },
  { name: 'bdb_high_latency', label: 'Average latency above', unit: 'µs' },
];

export const OF_CLUSTER: readonly Limit[] = [
  { name: 'node_cpu_utilization', label: 'CPU usage above', usual: '90', ...percent },
  { name: 'node_memory', label: 'Memory usage above', usual: '90', ...percent },
  { name: 'node_persistent_storage', label: 'Storage usage above', usual: '70', ...percent },
  { name: 'node_free_flash', label: 'Flash usage above', usual: '70', ...percent },
  {
    name: 'node_net_throughput',
    label: 'Network traffic above',
    usual: '100000000',
    unit: 'bytes/s',
  },
  {
    name: 'cluster_certs_about_to_expire',
    label: 'Console certificate',
    usual: '45',
    unit: 'days before expiry',
    whole: true,
  },
  {
    name: 'cluster_ca_cert_about_to_expire',
    label: 'Console CA certificate',
    usual: '90',
    unit: 'days before expiry',
    whole: true,
  },
  {
    name: 'node_internal_certs_about_to_expire',
    label: 'Agent certificate',
    usual: '45',
    unit: 'days before expiry',
    whole: true,
  },
  { name: 'cluster_multiple_nodes_down', label: 'More than one node is down' },
  { name: 'cluster_even_node_count', label: 'The number of nodes is even' },
  { name: 'cluster_too_few_nodes_for_replication', label: 'Fewer than two nodes' },
  { name: 'cluster_inconsistent_rl_sw', label: 'Nodes have different versions of Valkey' },
];

export const wantedOf = ({ name, unit, usual = '' }: Limit, now: WantedByName): Wanted => {
  const { enabled = false, threshold } = now[name] ?? {};
  return { enabled, threshold: unit ? (threshold ?? usual) : undefined };
};

/** Return the entries of the draft that differ from the stored settings. */
export function changesOf(
  limits: readonly Limit[],
  now: WantedByName,
  draft: WantedByName,
): WantedByName {
  const changed = limits.filter((limit) => {
    const [before, after] = [wantedOf(limit, now), draft[limit.name]];
    return after && (after.enabled !== before.enabled || after.threshold !== before.threshold);
  });
  return Object.fromEntries(changed.map(({ name }) => [name, draft[name] as Wanted]));
}

/** Return why a threshold is invalid; undefined if it is valid. */
export function faultOf(
  { unit, most, whole }: Limit,
  threshold: string | undefined,
): string | undefined {
  if (!unit) return undefined;
  if (whole)
    return /^\d{1,5}$/.test(threshold ?? '') ? undefined : 'Enter a whole number, such as 30';
  if (!/^\d{1,15}(\.\d{1,6})?$/.test(threshold ?? '')) return 'Enter a number, such as 80 or 92.5';
  return most !== undefined && Number(threshold) > most ? `The maximum is ${most}` : undefined;
}
