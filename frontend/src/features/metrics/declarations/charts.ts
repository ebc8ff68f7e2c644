/** Types of chart declarations, and the charts that several pages share. */
import type { Unit } from '@/lib/format';
import type { CombineRule } from '@/live/series/combineSeries';
import { COLOR } from '@/ui/chart/palette';

export interface SeriesDeclaration {
  metric: string;
  label: string;
  color: string;
  /** How the values of several objects are combined; default: sum. */
  rule?: CombineRule;
  /** Factor from the API's unit to the chart's unit. */
  scale?: number;
  /** Why the table below the chart shows no average over time. */
  noAverage?: string;
  /** Key of the object's constant (in `limits`) that the value is divided by. */
  shareOf?: string;
}

export interface ChartDeclaration {
  id: string;
  title: string;
  unit: Unit;
  kind: 'lines' | 'stacked';
  series: readonly SeriesDeclaration[];
  /** Metric that the stacked series add up to. Longer intervals show its lowest and highest second. */
  total?: string;
  /** A constant of the object drawn as a dashed line. */
  limit?: { label: string; key: string };
  max?: number;
  /** For gauges: longer intervals show the newest value instead of an average. */
  rollup?: 'last';
  emptyReason?: string;
  /** Text shown instead of the chart if the console does not provide these metrics. */
  unavailableReason?: string;
  /** Read the metrics from the object's machines or endpoints instead of the object itself. */
  source?: 'machines' | 'endpoints';
}

interface SingleMetric {
  id: string;
  title: string;
  unit: Unit;
  metric: string;
  color: string;
}

/** Declare a chart with a single metric. */
export function singleMetricChart(
  { id, title, unit, metric, color }: SingleMetric,
  options: Partial<ChartDeclaration> = {},
  series: Partial<SeriesDeclaration> = {},
): ChartDeclaration {
  return {
    id,
    title,
    unit,
    kind: 'lines',
    series: [{ metric, label: title, color, ...series }],
    ...options,
  };
}

export const THROUGHPUT: ChartDeclaration = {
  id: 'throughput',
  title: 'Throughput',
  unit: 'ops',
  kind: 'stacked',
  series: [
    { metric: 'read_req', label: 'Reads', color: COLOR.read },
    { metric: 'write_req', label: 'Writes', color: COLOR.write },
    { metric: 'other_req', label: 'Other', color: COLOR.other },
  ],
  total: 'total_req',
};

export const MEMORY: ChartDeclaration = {
  id: 'memory',
  title: 'Used memory',
  unit: 'bytes',
  kind: 'lines',
  series: [{ metric: 'used_memory', label: 'Used', color: COLOR.memory }],
  limit: { label: 'Limit', key: 'memory_size' },
  rollup: 'last',
};

export const HIT_RATIO = singleMetricChart(
  { id: 'hit-ratio', title: 'Hit ratio', unit: 'ratio', metric: 'hit_ratio', color: COLOR.hit },
  { max: 1, emptyReason: 'No keys were read in this time range.' },
);

export const INGRESS = singleMetricChart({
  id: 'ingress',
  title: 'Incoming traffic',
  unit: 'bytesPerSecond',
  metric: 'ingress_bytes',
  color: COLOR.ingress,
});

export const EGRESS = singleMetricChart({
  id: 'egress',
  title: 'Outgoing traffic',
  unit: 'bytesPerSecond',
  metric: 'egress_bytes',
  color: COLOR.egress,
});

export const EVICTED = singleMetricChart({
  id: 'evicted',
  title: 'Evicted objects',
  unit: 'perSecond',
  metric: 'evicted_objects',
  color: COLOR.evicted,
});

export const EXPIRED = singleMetricChart({
  id: 'expired',
  title: 'Expired objects',
  unit: 'perSecond',
  metric: 'expired_objects',
  color: COLOR.expired,
});

export const MAIN_THREAD = singleMetricChart({
  id: 'cpu',
  title: 'Main thread CPU',
  unit: 'cores',
  metric: 'main_thread_cpu',
  color: COLOR.cpuUser,
});

export const CONNECTIONS = singleMetricChart({
  id: 'connections',
  title: 'Connections',
  unit: 'count',
  metric: 'conns',
  color: COLOR.conns,
});

export const ERRORS = singleMetricChart({
  id: 'errors',
  title: 'Error replies',
  unit: 'perSecond',
  metric: 'errors',
  color: COLOR.error,
});

export const RESPONSIVENESS = singleMetricChart(
  {
    id: 'responsiveness',
    title: 'Responsiveness',
    unit: 'ms',
    metric: 'responsiveness',
    color: COLOR.responsiveness,
  },
  {},
  { label: 'Slowest PING' },
);

export const FRAGMENTATION = singleMetricChart(
  {
    id: 'fragmentation',
    title: 'RAM fragmentation',
    unit: 'plain',
    metric: 'mem_frag_ratio',
    color: COLOR.memory,
  },
  { rollup: 'last' },
);
