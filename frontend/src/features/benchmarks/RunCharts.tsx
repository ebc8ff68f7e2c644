/** What the load generator saw, second by second, on an axis that the database's own charts share. */
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
import { MEMTIER } from './draft';
import { errorsOf, type RunSeries } from './runSeries';

interface Props {
  run: Benchmark;
  open: boolean;
  series: RunSeries;
  marks: readonly ChartMark[];
  /** Charts of the database and the cluster. */
  children: ReactNode;
}

/** Seconds shown before the first and after the last measured one. */
const MARGIN = 3;

export function RunCharts({ run, open, series, marks, children }: Props) {
  const now = useNow() / 1000;
  const known = series.span();
  const began = known?.from ?? Date.parse(run.started_time ?? run.created_time) / 1000;
  const from = Math.floor(began) - MARGIN;
  const to = Math.ceil(open ? Math.max(now, began + 20) : (known?.to ?? began)) + MARGIN;
  const [axis] = useState(() => new SpanAxis({ from, to }));
  useEffect(() => axis.follow({ from, to }), [axis, from, to]);
  const kinds = series.errorKinds().join();
  const specs = useMemo(
    () => specsOf(series, run.uid, run.tool === MEMTIER, kinds ? kinds.split(',') : []),
    [series, run.uid, run.tool, kinds],
  );
  const heat = useMemo(
    () => series.heatSource(REASON, () => `${seriesCall(run.uid)}?histograms=true`),
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
              title="Latency heat map, as clients wait for it"
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

const REASON = 'The load generator has not told of a second yet.';
const NO_SUCCESS = 'No request succeeded in this time, so there is nothing to measure.';

const seriesCall = (uid: number) => `GET /v1/benchmarks/${uid}/series`;

/** Redirections have slate. */
const ERRORS = [
  COLOR.error,
  ...CYCLE.filter((color) => color !== COLOR.error && color !== COLOR.other),
];

const PERCENTILES = [
  ['p50_ms', 'P50', COLOR.p50],
  ['p99_ms', 'P99', COLOR.p99],
  ['p999_ms', 'P99.9', COLOR.p999],
] as const;

const colorOf = (index: number) => ERRORS[index % ERRORS.length] ?? COLOR.error;

/** memtier_benchmark tells less of a second: neither kinds of requests nor percentiles, nothing of itself. */
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
      REASON,
    ),
    apiCall: () => seriesCall(uid),
  });
  return [
    chart(
      'run-throughput',
      'Throughput, as the load generator counts it',
      'ops',
      memtier
        ? [['ops', 'Replies', COLOR.read]]
        : [
            ['reads', 'Reads', COLOR.read],
            ['writes', 'Writes', COLOR.write],
          ],
      'stacked',
    ),
    chart('run-latency', 'Latency, as clients wait for it', 'ms', [
      ['average_ms', 'Average', COLOR.average],
      ...(memtier ? [] : PERCENTILES),
    ]),
    chart('run-errors', 'Errors and redirections', 'perSecond', [
      ...(kinds.length
        ? kinds.map((kind, index) => [errorsOf(kind), kind, colorOf(index)] as const)
        : ([['errors', 'Errors', COLOR.error]] as const)),
      ...(memtier ? [] : ([['redirected', 'Redirected', COLOR.other]] as const)),
    ]),
    ...(memtier
      ? []
      : [
          chart('run-generator', 'Load generator: busiest thread', 'ratio', [
            ['busiest_thread_cpu', 'Processor', COLOR.cpuUser],
          ]),
        ]),
  ];
}
