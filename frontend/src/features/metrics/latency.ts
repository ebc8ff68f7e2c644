/** Charts of latency: how long clients wait, measured at the endpoint, in microseconds. */
import { COLOR } from '@/ui/chart/palette';
import type { ChartDeclaration, SeriesDeclaration } from './charts';

const AWAITS = 'Latency is measured at endpoints. This console does not tell it.';

const KINDS = [
  { id: 'latency-reads', title: 'Reads latency', infix: 'read_' },
  { id: 'latency-writes', title: 'Writes latency', infix: 'write_' },
  { id: 'latency-other', title: 'Other commands latency', infix: 'other_' },
];

const average = (infix = ''): SeriesDeclaration => ({
  metric: `avg_${infix}latency`,
  label: 'Average',
  color: COLOR.average,
});

interface Percent {
  name: string;
  label: string;
  color: string;
}

const P99: Percent = { name: 'p99', label: 'P99', color: COLOR.p99 };
const PERCENTS: readonly Percent[] = [
  { name: 'p50', label: 'P50', color: COLOR.p50 },
  P99,
  { name: 'p999', label: 'P99.9', color: COLOR.p999 },
];

const percentile = ({ name, label, color }: Percent, infix = ''): SeriesDeclaration => ({
  metric: `${name}_${infix}latency`,
  label,
  color,
  noAverage: 'Percentiles cannot be averaged: they are read from all requests together.',
});

const percentiles = (infix?: string) => PERCENTS.map((one) => percentile(one, infix));

type Named = Pick<ChartDeclaration, 'id' | 'title'>;

const chart = (named: Named, series: readonly SeriesDeclaration[]): ChartDeclaration => ({
  ...named,
  unit: 'latency',
  kind: 'lines',
  series,
  emptyReason: 'No requests in this time range, so there is nothing to measure.',
  awaits: AWAITS,
});

/** What the overview, nodes and clusters show. */
export const LATENCY = chart({ id: 'latency-avg', title: 'Latency' }, [average(), percentile(P99)]);

/** Of all commands, then of reads, writes and others. */
export const LATENCIES: readonly ChartDeclaration[] = [
  LATENCY,
  ...KINDS.map(({ infix, ...named }) => chart(named, [average(infix), ...percentiles(infix)])),
];

export const PERCENTILES = chart(
  { id: 'latency', title: 'Latency P50, P99, P99.9' },
  percentiles(),
);

export const CLUSTER_LATENCY: ChartDeclaration = {
  ...LATENCY,
  title: 'Latency of all databases',
};

/** Of several proxies' percentiles only the highest can be told. */
export const NODE_LATENCY: ChartDeclaration = {
  ...chart({ id: 'latency-avg', title: 'Latency' }, [
    { ...percentile(P99), label: 'P99 of its slowest endpoint', rule: 'max' },
  ]),
  of: 'endpoints',
};

/** One line for pages whose subject is time, not latency. */
export const TAIL_LATENCY = chart({ id: 'latency-p99', title: 'P99 latency of all databases' }, [
  percentile(P99),
]);
