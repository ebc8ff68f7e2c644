/** Charts of each metrics view. Data only. The order follows the metrics screens of Redis Enterprise. */
import { COLOR } from '@/ui/chart/palette';
import {
  type ChartDeclaration,
  CONNECTIONS,
  EGRESS,
  EVICTED,
  EXPIRED,
  FRAGMENTATION,
  HIT_RATIO,
  INGRESS,
  MAIN_THREAD,
  MEMORY,
  RESPONSIVENESS,
  singleMetricChart,
  THROUGHPUT,
} from './charts';
import { LATENCIES, LATENCY, NODE_LATENCY, PERCENTILES } from './latency';

const KEYS = singleMetricChart(
  { id: 'keys', title: 'Total keys', unit: 'count', metric: 'no_of_keys', color: COLOR.keys },
  { rollup: 'last' },
);

/** Charts that are shown large by default. */
export const DATABASE_LARGE = [THROUGHPUT.id, PERCENTILES.id] as const;

export const DATABASE_CHARTS: readonly ChartDeclaration[] = [
  THROUGHPUT,
  singleMetricChart({
    id: 'reads',
    title: 'Reads',
    unit: 'ops',
    metric: 'read_req',
    color: COLOR.read,
  }),
  singleMetricChart({
    id: 'writes',
    title: 'Writes',
    unit: 'ops',
    metric: 'write_req',
    color: COLOR.write,
  }),
  singleMetricChart({
    id: 'other',
    title: 'Other commands',
    unit: 'ops',
    metric: 'other_req',
    color: COLOR.other,
  }),
  ...LATENCIES,
  PERCENTILES,
  MEMORY,
  singleMetricChart(
    {
      id: 'memory-usage',
      title: 'Memory usage',
      unit: 'ratio',
      metric: 'used_memory',
      color: COLOR.memory,
    },
    { rollup: 'last', emptyReason: 'The database has no memory limit or has sent no samples.' },
    { shareOf: 'memory_size' },
  ),
  CONNECTIONS,
  KEYS,
  HIT_RATIO,
  INGRESS,
  EGRESS,
  singleMetricChart({
    id: 'read-misses',
    title: 'Read misses',
    unit: 'ops',
    metric: 'read_misses',
    color: COLOR.read,
  }),
  EXPIRED,
  EVICTED,
  FRAGMENTATION,
  {
    id: 'cpu-total',
    title: 'CPU usage of all threads',
    unit: 'cores',
    kind: 'stacked',
    series: [
      { metric: 'shard_cpu_user', label: 'User', color: COLOR.cpuUser, rule: 'mean' },
      { metric: 'shard_cpu_system', label: 'System', color: COLOR.cpuSystem, rule: 'mean' },
    ],
  },
  MAIN_THREAD,
  RESPONSIVENESS,
];

export const CLUSTER_THROUGHPUT: ChartDeclaration = {
  ...THROUGHPUT,
  title: 'Throughput of all databases',
};

const CPU: ChartDeclaration = {
  id: 'cpu',
  title: 'CPU usage',
  unit: 'ratio',
  kind: 'stacked',
  series: [
    { metric: 'cpu_user', label: 'User', color: COLOR.cpuUser, rule: 'mean' },
    { metric: 'cpu_system', label: 'System', color: COLOR.cpuSystem, rule: 'mean' },
    { metric: 'cpu_iowait', label: 'I/O wait', color: COLOR.cpuWait, rule: 'mean' },
  ],
  max: 1,
};

const FREE_RAM = singleMetricChart(
  {
    id: 'free-ram',
    title: 'Free RAM on the machine',
    unit: 'bytes',
    metric: 'available_memory',
    color: COLOR.keys,
  },
  { rollup: 'last' },
);

const FREE_DISK = singleMetricChart(
  {
    id: 'storage',
    title: 'Free disk',
    unit: 'bytes',
    metric: 'persistent_storage_avail',
    color: COLOR.keys,
  },
  { rollup: 'last' },
);

const onMachines = (chart: ChartDeclaration): ChartDeclaration => ({
  ...chart,
  source: 'machines',
});

export const CLUSTER_CHARTS: readonly ChartDeclaration[] = [
  CLUSTER_THROUGHPUT,
  LATENCY,
  CONNECTIONS,
  onMachines({ ...CPU, title: 'CPU usage of all machines' }),
  onMachines({ ...FREE_RAM, title: 'Free RAM on all machines' }),
  onMachines(FREE_DISK),
  INGRESS,
  EGRESS,
  { ...MEMORY, limit: { label: 'Provisioned', key: 'memory_size' } },
  KEYS,
  HIT_RATIO,
];

export const NODE_THROUGHPUT = singleMetricChart({
  id: 'throughput',
  title: 'Shard throughput',
  unit: 'ops',
  metric: 'total_req',
  color: COLOR.read,
});

export const NODE_CHARTS: readonly ChartDeclaration[] = [
  NODE_THROUGHPUT,
  NODE_LATENCY,
  CONNECTIONS,
  CPU,
  FREE_RAM,
  FREE_DISK,
  INGRESS,
  EGRESS,
  { ...MEMORY, title: 'Shard memory', limit: { label: 'Total', key: 'total_memory' } },
  {
    id: 'disk',
    title: 'Disk',
    unit: 'bytesPerSecond',
    kind: 'lines',
    series: [
      { metric: 'disk_read_bytes', label: 'Read', color: COLOR.read },
      { metric: 'disk_write_bytes', label: 'Written', color: COLOR.write },
    ],
  },
  singleMetricChart({
    id: 'agent-cpu',
    title: 'Agent CPU',
    unit: 'cores',
    metric: 'agent_cpu',
    color: COLOR.cpuUser,
  }),
  singleMetricChart(
    {
      id: 'agent-memory',
      title: 'Agent memory',
      unit: 'bytes',
      metric: 'agent_rss',
      color: COLOR.memory,
    },
    { rollup: 'last' },
  ),
];

const { id, title, unit } = CONNECTIONS;

/** Charts of a single shard. */
export const SHARD_CHARTS: readonly ChartDeclaration[] = [
  THROUGHPUT,
  MEMORY,
  HIT_RATIO,
  EVICTED,
  EXPIRED,
  MAIN_THREAD,
  singleMetricChart({ id, title, unit, metric: 'connected_clients', color: COLOR.conns }),
  INGRESS,
  EGRESS,
  FRAGMENTATION,
  RESPONSIVENESS,
  singleMetricChart(
    {
      id: 'lag',
      title: 'Replication lag',
      unit: 'bytes',
      metric: 'repl_lag_bytes',
      color: COLOR.hit,
    },
    { rollup: 'last', emptyReason: 'Only replicas have a replication lag.' },
  ),
];
