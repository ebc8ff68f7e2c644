/** Alert thresholds with their labels, and the changes that the form sends. Pure. */
import type { AlertSetting, AlertSettings } from '@/api/alerting/alerts';

export interface AlertThreshold {
  name: string;
  label: string;
  /** Unit of the threshold; undefined for alerts without a threshold. */
  unit?: string;
  /** Default threshold, shown until a different one is set. */
  defaultThreshold?: string;
  /** Maximum threshold. */
  max?: number;
  /** Whether the threshold must be an integer. */
  integer?: boolean;
}

const percent = { unit: '%', max: 100 } satisfies Partial<AlertThreshold>;

export const DATABASE_THRESHOLDS: readonly AlertThreshold[] = [
  { name: 'bdb_size', label: 'Memory usage above', ...percent },
  { name: 'bdb_high_throughput', label: 'Throughput above', unit: 'ops/s' },
  { name: 'bdb_low_throughput', label: 'Throughput below', unit: 'ops/s' },
  { name: 'bdb_high_latency', label: 'Average latency above', unit: 'µs' },
  { name: 'bdb_backup_delayed', label: 'Backup delayed by', unit: 'minutes' },
  { name: 'bdb_backup_size_changed', label: 'Backup size changed by a factor of', unit: '×' },
  { name: 'bdb_long_running_action', label: 'Operation takes longer than', unit: 'minutes' },
  { name: 'bdb_ram_values', label: 'On flash: share of values in RAM below', ...percent },
  { name: 'bdb_ram_dataset_overhead', label: 'On flash: RAM used by keys above', ...percent },
  {
    name: 'bdb_shard_num_ram_values',
    label: 'On flash: values in RAM of a shard below',
    unit: 'values',
  },
];

export const CLUSTER_THRESHOLDS: readonly AlertThreshold[] = [
  { name: 'node_cpu_utilization', label: 'CPU usage above', defaultThreshold: '90', ...percent },
  { name: 'node_memory', label: 'Memory usage above', defaultThreshold: '90', ...percent },
  {
    name: 'node_persistent_storage',
    label: 'Storage usage above',
    defaultThreshold: '70',
    ...percent,
  },
  { name: 'node_free_flash', label: 'Flash usage above', defaultThreshold: '70', ...percent },
  {
    name: 'node_net_throughput',
    label: 'Network traffic above',
    defaultThreshold: '100000000',
    unit: 'bytes/s',
  },
  {
    name: 'cluster_certs_about_to_expire',
    label: 'Console certificate',
    defaultThreshold: '45',
    unit: 'days before expiry',
    integer: true,
  },
  {
    name: 'cluster_ca_cert_about_to_expire',
    label: 'Console CA certificate',
    defaultThreshold: '90',
    unit: 'days before expiry',
    integer: true,
  },
  {
    name: 'node_internal_certs_about_to_expire',
    label: 'Agent certificate',
    defaultThreshold: '45',
    unit: 'days before expiry',
    integer: true,
  },
  { name: 'cluster_multiple_nodes_down', label: 'More than one node is down' },
  { name: 'cluster_even_node_count', label: 'The number of nodes is even' },
  { name: 'cluster_too_few_nodes_for_replication', label: 'Fewer than two nodes' },
  { name: 'cluster_inconsistent_rl_sw', label: 'Nodes have different versions of Valkey' },
  {
    name: 'cluster_ram_overcommit',
    label: 'Memory limits of databases exceed the RAM of the nodes',
  },
  { name: 'cluster_flash_overcommit', label: 'Flash of databases exceeds the flash of the nodes' },
  {
    name: 'cluster_users_count_approaches_limit',
    label: 'Number of users above',
    defaultThreshold: '90',
    unit: '% of 32,000',
    max: 100,
  },
  { name: 'node_checks_error', label: 'The check of a node finds a problem' },
  {
    name: 'node_insufficient_disk_aofrw',
    label: 'Too little free storage to rewrite append-only files',
  },
];

export const alertSettingOf = (
  { name, unit, defaultThreshold = '' }: AlertThreshold,
  now: AlertSettings,
): AlertSetting => {
  const { enabled = false, threshold } = now[name] ?? {};
  return { enabled, threshold: unit ? (threshold ?? defaultThreshold) : undefined };
};

/** Return the entries of the draft that differ from the stored settings. */
export function changesOf(
  limits: readonly AlertThreshold[],
  now: AlertSettings,
  draft: AlertSettings,
): AlertSettings {
  const changed = limits.filter((limit) => {
    const [before, after] = [alertSettingOf(limit, now), draft[limit.name]];
    return after && (after.enabled !== before.enabled || after.threshold !== before.threshold);
  });
  return Object.fromEntries(changed.map(({ name }) => [name, draft[name] as AlertSetting]));
}

/** Return why a threshold is invalid; undefined if it is valid. */
export function thresholdError(
  { unit, max, integer }: AlertThreshold,
  threshold: string | undefined,
): string | undefined {
  if (!unit) return undefined;
  if (integer)
    return /^\d{1,5}$/.test(threshold ?? '') ? undefined : 'Enter a whole number, such as 30';
  if (!/^\d{1,15}(\.\d{1,6})?$/.test(threshold ?? '')) return 'Enter a number, such as 80 or 92.5';
  return max !== undefined && Number(threshold) > max ? `The maximum is ${max}` : undefined;
}
