/** Latency charts: the time that clients wait, measured at the endpoint, in microseconds. */
import { COLOR } from '@/ui/chart/palette';
import type { ChartDeclaration, SeriesDeclaration } from './charts';

const UNAVAILABLE =
  'This console does not provide latency metrics. Latency is measured at endpoints.';

const KINDS = [
  { id: 'latency-reads', title: 'Read latency', infix: 'read_' },
  { id: 'latency-writes', title: 'Write latency', infix: 'write_' },
  { id: 'latency-other', title: 'Latency of other commands', infix: 'other_' },
];

const average = (infix = ''): SeriesDeclaration => ({
  metric: `avg_${infix}latency`,
  label: 'Average',
  color: COLOR.average,
});

interface Percentile {
  name: string;
  label: string;
  color: string;
}

const P99: Percentile = { name: 'p99', label: 'P99', color: COLOR.p99 };
const PERCENTILE_LINES: readonly Percentile[] = [
  { name: 'p50', label: 'P50', color: COLOR.p50 },
  P99,
  { name: 'p999', label: 'P99.9', color: COLOR.p999 },
];

const percentile = ({ name, label, color }: Percentile, infix = ''): SeriesDeclaration => ({
  metric: `${name}_${infix}latency`,
  label,
  color,
  noAverage: 'Percentiles cannot be averaged over time. They are computed from all requests.',
});

const percentiles = (infix?: string) => PERCENTILE_LINES.map((line) => percentile(line, infix));

type ChartTitle = Pick<ChartDeclaration, 'id' | 'title'>;

const chart = (titles: ChartTitle, series: readonly SeriesDeclaration[]): ChartDeclaration => ({
  ...titles,
  unit: 'latency',
  kind: 'lines',
  series,
  emptyReason: 'No requests in this time range.',
  unavailableReason: UNAVAILABLE,
});

/** Chart on the overview and cluster pages. */
export const LATENCY = chart({ id: 'latency-avg', title: 'Latency' }, [average(), percentile(P99)]);

/** Charts of all commands, reads, writes and other commands, in this order. */
export const LATENCIES: readonly ChartDeclaration[] = [
  LATENCY,
  ...KINDS.map(({ infix, ...titles }) => chart(titles, [average(infix), ...percentiles(infix)])),
];

export const PERCENTILES = chart(
  { id: 'latency', title: 'Latency P50, P99, P99.9' },
  percentiles(),
);

export const CLUSTER_LATENCY: ChartDeclaration = {
  ...LATENCY,
  title: 'Latency of all databases',
};

/** Percentiles of several proxies cannot be combined, so the chart shows the highest one. */
export const NODE_LATENCY: ChartDeclaration = {
  ...chart({ id: 'latency-avg', title: 'Latency' }, [
    { ...percentile(P99), label: 'P99 of the slowest endpoint', rule: 'max' },
  ]),
  source: 'endpoints',
};

/** Compact chart for the timeline. */
export const TAIL_LATENCY = chart({ id: 'latency-p99', title: 'P99 latency of all databases' }, [
  percentile(P99),
]);
