/**
 * Charts of the load generator's measurements per second, on the same time axis as the charts of
 * the database.
 */
import { type ReactNode, useEffect, useMemo, useState } from 'react';
import type { Benchmark } from '@/api/types';
import { useNow } from '@/ui/Ago';
import { Chart } from '@/ui/chart/Chart';
import { HeatChart } from '@/ui/chart/heat/HeatChart';
import { COLOR, CYCLE } from '@/ui/chart/palette';
import { SpanAxis } from '@/ui/chart/spanAxis';
import { TimeAxisProvider } from '@/ui/chart/TimeAxisContext';
import type { ChartMark, ChartSpec } from '@/ui/chart/types';
import classes from './benchmarks.module.css';
import { MEMTIER } from './form/runDraft';
import { errorMetric, type RunSeries } from './runSeries';

interface Props {
  run: Benchmark;
  open: boolean;
  series: RunSeries;
  marks: readonly ChartMark[];
  /** Charts of the database and the cluster. */
  children: ReactNode;
}

/** Seconds shown before the first and after the last measured second. */
const MARGIN = 3;

export function RunCharts({ run, open, series, marks, children }: Props) {
  const now = useNow() / 1000;
  const measuredSpan = series.span();
  const startedAt = measuredSpan?.from ?? Date.parse(run.started_time ?? run.created_time) / 1000;
  const from = Math.floor(startedAt) - MARGIN;
  const to =
    Math.ceil(open ? Math.max(now, startedAt + 20) : (measuredSpan?.to ?? startedAt)) + MARGIN;
  const [axis] = useState(() => new SpanAxis({ from, to }));
  useEffect(() => axis.follow({ from, to }), [axis, from, to]);
  const kinds = series.errorKinds().join();
  const specs = useMemo(
    () => specsOf(series, run.uid, run.tool === MEMTIER, kinds ? kinds.split(',') : []),
    [series, run.uid, run.tool, kinds],
  );
  const heat = useMemo(
    () => series.heatSource(NO_DATA, () => `${seriesCall(run.uid)}?histograms=true`),
    [series, run.uid],
  );
  return (
    <TimeAxisProvider value={axis}>
      <div className={classes.charts}>
        {specs.map((spec) => (
          <Chart key={spec.id} spec={spec} marks={marks} height={170} />
        ))}
        {run.tool !== MEMTIER && (
          <div className={classes.wide}>
            <HeatChart
              id="run-heat"
              title="Latency heat map measured by the load generator"
              source={heat}
              marks={marks}
              height={200}
              emptyReason={NO_SUCCESS}
            />
          </div>
        )}
        {children}
      </div>
    </TimeAxisProvider>
  );
}

const NO_DATA = 'The load generator has not reported any data yet.';
const NO_SUCCESS = 'No requests succeeded in this time range.';

const seriesCall = (uid: number) => `GET /v1/benchmarks/${uid}/series`;

/** Colors of error types. Slate is reserved for redirections. */
const ERROR_COLORS = [
  COLOR.error,
  ...CYCLE.filter((color) => color !== COLOR.error && color !== COLOR.other),
];

const PERCENTILES = [
  ['p50_ms', 'P50', COLOR.p50],
  ['p99_ms', 'P99', COLOR.p99],
  ['p999_ms', 'P99.9', COLOR.p999],
] as const;

const colorOf = (index: number) => ERROR_COLORS[index % ERROR_COLORS.length] ?? COLOR.error;

/**
 * Return the charts of a run. memtier_benchmark does not report request types, percentiles or its
 * own CPU usage per second.
 */
function specsOf(
  series: RunSeries,
  uid: number,
  memtier: boolean,
  kinds: readonly string[],
): ChartSpec[] {
  const chart = (
    id: string,
    title: string,
    unit: ChartSpec['unit'],
    lines: readonly (readonly [metric: string, label: string, color: string])[],
    kind: ChartSpec['kind'] = 'lines',
  ): ChartSpec => ({
    id,
    title,
    unit,
    kind,
    series: lines.map(([, label, color]) => ({ label, color })),
    source: series.source(
      lines.map(([metric]) => metric),
      NO_DATA,
    ),
    apiCall: () => seriesCall(uid),
  });
  return [
    chart(
      'run-throughput',
      'Throughput measured by the load generator',
      'ops',
      memtier
        ? [['ops', 'Replies', COLOR.read]]
        : [
            ['reads', 'Reads', COLOR.read],
            ['writes', 'Writes', COLOR.write],
          ],
      'stacked',
    ),
    chart('run-latency', 'Latency measured by the load generator', 'ms', [
      ['average_ms', 'Average', COLOR.average],
      ...(memtier ? [] : PERCENTILES),
    ]),
    chart('run-errors', 'Errors and redirections', 'perSecond', [
      ...(kinds.length
        ? kinds.map((kind, index) => [errorMetric(kind), kind, colorOf(index)] as const)
        : ([['errors', 'Errors', COLOR.error]] as const)),
      ...(memtier ? [] : ([['redirected', 'Redirected', COLOR.other]] as const)),
    ]),
    ...(memtier
      ? []
      : [
          chart('run-generator', 'CPU usage of the busiest load generator thread', 'ratio', [
            ['busiest_thread_cpu', 'CPU', COLOR.cpuUser],
          ]),
        ]),
  ];
}
