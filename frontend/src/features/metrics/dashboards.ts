/** Which charts there are: data only. Order follows the reference's metrics screens. */
import type { Unit } from '@/lib/format';
import { COLOR } from '@/ui/chart/palette';

export interface SeriesDeclaration {
  metric: string;
  label: string;
  color: string;
}

export interface ChartDeclaration {
  id: string;
  title: string;
  unit: Unit;
  kind: 'lines' | 'stacked';
  series: readonly SeriesDeclaration[];
  /** A constant of the object drawn as a dashed line. */
  limit?: { label: string; key: string };
  max?: number;
  emptyReason?: string;
}

const THROUGHPUT: ChartDeclaration = {
  id: 'throughput',
  title: 'Throughput',
  unit: 'ops',
  kind: 'stacked',
  series: [
    { metric: 'read_req', label: 'Reads', color: COLOR.read },
    { metric: 'write_req', label: 'Writes', color: COLOR.write },
    { metric: 'other_req', label: 'Other', color: COLOR.other },
  ],
};

const MEMORY: ChartDeclaration = {
  id: 'memory',
  title: 'Used memory',
  unit: 'bytes',
  kind: 'lines',
  series: [{ metric: 'used_memory', label: 'Used', color: COLOR.memory }],
  limit: { label: 'Limit', key: 'memory_size' },
};

const HIT_RATIO: ChartDeclaration = {
  id: 'hit-ratio',
  title: 'Hit ratio',
  unit: 'ratio',
  kind: 'lines',
  series: [{ metric: 'hit_ratio', label: 'Hits of reads', color: COLOR.hit }],
  max: 1,
  emptyReason: 'Nothing was read in this time range, so there is no ratio.',
};

const KEYS: ChartDeclaration = {
  id: 'keys',
  title: 'Keys',
  unit: 'count',
  kind: 'lines',
  series: [{ metric: 'no_of_keys', label: 'Keys', color: COLOR.keys }],
};

const NETWORK: ChartDeclaration = {
  id: 'network',
  title: 'Network',
  unit: 'bytesPerSecond',
  kind: 'lines',
  series: [
    { metric: 'ingress_bytes', label: 'In', color: COLOR.ingress },
    { metric: 'egress_bytes', label: 'Out', color: COLOR.egress },
  ],
};

const REMOVALS: ChartDeclaration = {
  id: 'removals',
  title: 'Evictions and expirations',
  unit: 'perSecond',
  kind: 'lines',
  series: [
    { metric: 'evicted_objects', label: 'Evicted', color: COLOR.evicted },
    { metric: 'expired_objects', label: 'Expired', color: COLOR.expired },
  ],
};

const SHARD_CPU: ChartDeclaration = {
  id: 'cpu',
  title: 'Main thread CPU',
  unit: 'cores',
  kind: 'lines',
  series: [{ metric: 'main_thread_cpu', label: 'Main threads', color: COLOR.cpuUser }],
};

const RESPONSIVENESS: ChartDeclaration = {
  id: 'responsiveness',
  title: 'Responsiveness (slowest PING of a shard)',
  unit: 'ms',
  kind: 'lines',
  series: [{ metric: 'responsiveness', label: 'Slowest', color: COLOR.responsiveness }],
};

const CONNECTIONS: ChartDeclaration = {
  id: 'connections',
  title: 'Connections',
  unit: 'count',
  kind: 'lines',
  series: [{ metric: 'conns', label: 'Clients', color: COLOR.conns }],
};

export const DATABASE_CHARTS: readonly ChartDeclaration[] = [
  THROUGHPUT,
  MEMORY,
  CONNECTIONS,
  KEYS,
  HIT_RATIO,
  NETWORK,
  REMOVALS,
  {
    id: 'fragmentation',
    title: 'Memory fragmentation',
    unit: 'plain',
    kind: 'lines',
    series: [{ metric: 'mem_frag_ratio', label: 'Ratio', color: COLOR.memory }],
  },
  SHARD_CPU,
  RESPONSIVENESS,
];

export const CLUSTER_THROUGHPUT: ChartDeclaration = {
  ...THROUGHPUT,
  title: 'Throughput of all databases',
};

export const NODE_CHARTS: readonly ChartDeclaration[] = [
  {
    id: 'cpu',
    title: 'CPU',
    unit: 'ratio',
    kind: 'stacked',
    series: [
      { metric: 'cpu_user', label: 'User', color: COLOR.cpuUser },
      { metric: 'cpu_system', label: 'System', color: COLOR.cpuSystem },
      { metric: 'cpu_iowait', label: 'I/O wait', color: COLOR.cpuWait },
    ],
    max: 1,
  },
  {
    id: 'memory',
    title: 'Memory',
    unit: 'bytes',
    kind: 'lines',
    series: [
      { metric: 'available_memory', label: 'Available', color: COLOR.keys },
      { metric: 'used_memory', label: 'Shards', color: COLOR.memory },
    ],
    limit: { label: 'Total', key: 'total_memory' },
  },
  { ...NETWORK, title: 'Network of the machine' },
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
  {
    id: 'throughput',
    title: 'Throughput of its shards',
    unit: 'ops',
    kind: 'lines',
    series: [{ metric: 'total_req', label: 'Operations', color: COLOR.read }],
  },
  CONNECTIONS,
  {
    id: 'storage',
    title: 'Free persistent storage',
    unit: 'bytes',
    kind: 'lines',
    series: [{ metric: 'persistent_storage_free', label: 'Free', color: COLOR.keys }],
  },
  {
    id: 'agent-cpu',
    title: 'Agent CPU',
    unit: 'cores',
    kind: 'lines',
    series: [{ metric: 'agent_cpu', label: 'Agent', color: COLOR.cpuUser }],
  },
  {
    id: 'agent-memory',
    title: 'Agent memory',
    unit: 'bytes',
    kind: 'lines',
    series: [{ metric: 'agent_rss', label: 'Resident', color: COLOR.memory }],
  },
];

const shardConnections: ChartDeclaration = {
  ...CONNECTIONS,
  series: [{ metric: 'connected_clients', label: 'Clients', color: COLOR.conns }],
};

/** Charts of one shard. */
export const SHARD_CHARTS: readonly ChartDeclaration[] = [
  THROUGHPUT,
  MEMORY,
  SHARD_CPU,
  HIT_RATIO,
  shardConnections,
  NETWORK,
  {
    id: 'lag',
    title: 'Replication lag',
    unit: 'bytes',
    kind: 'lines',
    series: [{ metric: 'repl_lag_bytes', label: 'Behind its primary', color: COLOR.hit }],
    emptyReason: 'Only replicas lag.',
  },
];

export interface ShardMetric {
  metric: string;
  title: string;
  unit: Unit;
}

/** What the per-shard comparison can show. */
export const SHARD_METRICS: readonly ShardMetric[] = [
  { metric: 'total_req', title: 'Throughput', unit: 'ops' },
  { metric: 'used_memory', title: 'Used memory', unit: 'bytes' },
  { metric: 'no_of_keys', title: 'Keys', unit: 'count' },
  { metric: 'main_thread_cpu', title: 'Main thread CPU', unit: 'cores' },
  { metric: 'hit_ratio', title: 'Hit ratio', unit: 'ratio' },
  { metric: 'connected_clients', title: 'Connections', unit: 'count' },
  { metric: 'ingress_bytes', title: 'Network in', unit: 'bytesPerSecond' },
  { metric: 'egress_bytes', title: 'Network out', unit: 'bytesPerSecond' },
  { metric: 'evicted_objects', title: 'Evictions', unit: 'perSecond' },
  { metric: 'responsiveness', title: 'Responsiveness', unit: 'ms' },
];
