/** Metrics that can be compared between shards, nodes or databases. Data only. */
import type { Unit } from '@/lib/format';
import type { CombineRule } from '@/live/series/combineSeries';
import type { SeriesRef } from '@/live/series/seriesSource';

export interface ComparedMetric {
  metric: string;
  title: string;
  unit: Unit;
  /** How the values of several shards of a node are combined; default: sum. */
  rule?: CombineRule;
}

/** One line or tile of a comparison: an object, or several objects combined. */
export interface ComparedObject {
  key: string;
  label: string;
  note?: string;
  uids: readonly string[];
  color?: string;
}

const THROUGHPUT: ComparedMetric = { metric: 'total_req', title: 'Throughput', unit: 'ops' };
const MEMORY: ComparedMetric = { metric: 'used_memory', title: 'Used memory', unit: 'bytes' };
const P99: ComparedMetric = { metric: 'p99_latency', title: 'P99 latency', unit: 'latency' };
const AVERAGE: ComparedMetric = {
  metric: 'avg_latency',
  title: 'Average latency',
  unit: 'latency',
};
const NETWORK: readonly ComparedMetric[] = [
  { metric: 'ingress_bytes', title: 'Network in', unit: 'bytesPerSecond' },
  { metric: 'egress_bytes', title: 'Network out', unit: 'bytesPerSecond' },
];
const DATA: readonly ComparedMetric[] = [
  THROUGHPUT,
  MEMORY,
  { metric: 'no_of_keys', title: 'Keys', unit: 'count' },
  { metric: 'main_thread_cpu', title: 'Main thread CPU', unit: 'cores' },
  { metric: 'hit_ratio', title: 'Hit ratio', unit: 'ratio', rule: 'mean' },
];
const RESULTS: readonly ComparedMetric[] = [
  ...NETWORK,
  { metric: 'evicted_objects', title: 'Evictions', unit: 'perSecond' },
  { metric: 'expired_objects', title: 'Expirations', unit: 'perSecond' },
  { metric: 'responsiveness', title: 'Responsiveness', unit: 'ms', rule: 'max' },
];

export const SHARD_METRICS: readonly ComparedMetric[] = [
  ...DATA,
  { metric: 'connected_clients', title: 'Connections', unit: 'count' },
  ...RESULTS,
];

export const BDB_METRICS: readonly ComparedMetric[] = [
  ...DATA,
  AVERAGE,
  P99,
  { metric: 'conns', title: 'Connections', unit: 'count' },
  ...RESULTS,
];

export const NODE_METRICS: readonly ComparedMetric[] = [
  THROUGHPUT,
  { metric: 'cpu_user', title: 'CPU, user', unit: 'ratio' },
  { metric: 'cpu_system', title: 'CPU, system', unit: 'ratio' },
  { metric: 'available_memory', title: 'Free RAM', unit: 'bytes' },
  MEMORY,
  { metric: 'conns', title: 'Connections', unit: 'count' },
  ...NETWORK,
  { metric: 'persistent_storage_avail', title: 'Free disk', unit: 'bytes' },
  { metric: 'agent_cpu', title: 'Agent CPU', unit: 'cores' },
  { metric: 'agent_rss', title: 'Agent memory', unit: 'bytes' },
];

export function comparisonSeries(
  groups: readonly ComparedObject[],
  { metric, rule }: ComparedMetric,
): SeriesRef[] {
  return groups.map(({ uids }) => ({ uids, metric, ...(rule && { rule }) }));
}
