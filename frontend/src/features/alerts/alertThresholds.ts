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
