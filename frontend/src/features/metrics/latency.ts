/** Charts of latency: drawn as soon as the endpoint measures it. */
import { COLOR } from '@/ui/chart/palette';
import type { ChartDeclaration } from './charts';

const AWAITS = 'Awaits the endpoint proxy: only it can see how long a client waits.';
/** The REST reference counts microseconds. */
const MICROSECONDS = 0.001;

const COMMANDS = [
  { id: 'latency-avg', title: 'Latency', infix: '', color: COLOR.responsiveness },
  { id: 'latency-reads', title: 'Reads latency', infix: 'read_', color: COLOR.read },
  { id: 'latency-writes', title: 'Writes latency', infix: 'write_', color: COLOR.write },
  { id: 'latency-other', title: 'Other commands latency', infix: 'other_', color: COLOR.other },
];

/** Of all commands, then of reads, writes and others. */
export const LATENCIES = COMMANDS.map(
  ({ id, title, infix, color }): ChartDeclaration => ({
    id,
    title,
    unit: 'ms',
    kind: 'lines',
    series: [
      { metric: `avg_${infix}latency`, label: 'Average', color, scale: MICROSECONDS },
      { metric: `p99_${infix}latency`, label: 'P99', color: COLOR.p99, scale: MICROSECONDS },
    ],
    awaits: AWAITS,
  }),
);

export const PERCENTILES: ChartDeclaration = {
  id: 'latency',
  title: 'Latency P50, P99, P99.9',
  unit: 'ms',
  kind: 'lines',
  series: [
    { metric: 'p50_latency', label: 'P50', color: COLOR.p50, scale: MICROSECONDS },
    { metric: 'p99_latency', label: 'P99', color: COLOR.p99, scale: MICROSECONDS },
    { metric: 'p999_latency', label: 'P99.9', color: COLOR.p999, scale: MICROSECONDS },
  ],
  awaits: AWAITS,
};

/** How many requests took how long over time needs the buckets, which no metric has yet. */
export const HEAT_MAP: ChartDeclaration = {
  id: 'latency-heat-map',
  title: 'Latency heat map',
  unit: 'ms',
  kind: 'lines',
  series: [],
  awaits: AWAITS,
};
