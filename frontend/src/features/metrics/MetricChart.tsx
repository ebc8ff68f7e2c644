/**
 * A declared chart on live or stored data. If the console does not provide the metrics, the reason
 * is shown instead.
 */
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useMemo, useSyncExternalStore } from 'react';
import { bdbsQuery } from '@/api/databases/bdbs';
import { withDisplayNames } from '@/api/databases/displayNames';
import { historyPath } from '@/api/metrics/history';
import type { Unit } from '@/lib/format';
import { intervalCount } from '@/lib/resolution';
import { useLive } from '@/live/LiveProvider';
import { stepOf } from '@/live/series/seriesSource';
import { useSeries } from '@/live/useSeries';
import { Chart } from '@/ui/chart/Chart';
import { COLOR } from '@/ui/chart/palette';
import { useTimeAxis } from '@/ui/chart/TimeAxisContext';
import type { ChartMark, ChartSource, ChartSpec } from '@/ui/chart/types';
import type { ChartDeclaration } from './declarations/charts';
import { promql } from './promql';
import { ReasonCard } from './ReasonCard';

export type EmptyReasons = Partial<Record<Unit, string>>;

interface Props {
  declaration: ChartDeclaration;
  topic: string;
  /** Uid of the object, or of several objects that are combined. */
  uid: string | readonly string[];
  /** Constants of the object for limit lines and shares, by key. */
  limits?: Readonly<Record<string, number | undefined>> | undefined;
  /** Why charts of a unit are currently empty, if known. */
  reasons?: EmptyReasons | undefined;
  marks?: readonly ChartMark[] | undefined;
  height?: number;
  compact?: boolean;
  /** Whether the page shows one time axis for all plots. */
  isAxisShared?: boolean;
  actions?: ReactNode;
}

export function MetricChart(props: Props) {
  const { declaration, topic, actions, height = 150 } = props;
  const available = useMetricNames(topic);
  const missing =
    available.length > 0 && !declaration.series.some(({ metric }) => available.includes(metric));
  if (declaration.unavailableReason && missing) {
    const { id, title, unavailableReason } = declaration;
    return (
      <ReasonCard
        id={id}
        title={title}
        reason={unavailableReason}
        height={height}
        actions={actions}
      />
    );
  }
  return <AvailableChart {...props} height={height} />;
}

function AvailableChart(props: Props) {
  const { declaration, topic, uid, limits, marks, height, compact, isAxisShared, actions } = props;
  const reason = props.reasons?.[declaration.unit] ?? declaration.emptyReason;
  const uids = typeof uid === 'string' ? [uid] : uid;
  const subject = useSubject(topic, uids);
  const limit = declaration.limit && limits?.[declaration.limit.key];
  const series = chartSeries(declaration, uids, limits);
  const total = declaration.total && { uids, metric: declaration.total };
  const source = useSeries({ topic, series, ...(total && { total }) });
  const query = useQueries(topic, uids, declaration, series);
  const spec = useMemo((): ChartSpec => {
    const { title, unit, kind, max, rollup, id } = declaration;
    const drawn = declaration.series.map(({ label, color, noAverage }) => ({
      label,
      color,
      ...(noAverage && { noAverage }),
    }));
    const line = declaration.limit && { label: declaration.limit.label, color: COLOR.limit };
    return {
      ...{ id, title, unit, kind, ...query },
      ...(max && { max }),
      ...(subject && { subject }),
      ...(reason && { emptyReason: reason }),
      ...(rollup && { rollup }),
      series: limit && line ? [...drawn, { ...line, limit: true }] : drawn,
      source: limit ? withLimit(source, limit) : source,
    };
  }, [source, query, declaration, limit, reason, subject]);

  return (
    <Chart
      spec={spec}
      {...(marks ? { marks } : {})}
      {...(height ? { height } : {})}
      {...(compact ? { compact } : {})}
      {...(isAxisShared ? { isAxisShared } : {})}
      actions={actions}
    />
  );
}

/** Return the series of a chart. A share of an unset limit has no value instead of the value zero. */
export function chartSeries(
  declaration: ChartDeclaration,
  uids: readonly string[],
  limits: Props['limits'],
) {
  return declaration.series.map(({ metric, rule, scale = 1, shareOf }) => {
    const limit = shareOf ? limits?.[shareOf] : 1;
    return {
      uids: limit ? uids : [],
      metric,
      ...(rule && { rule }),
      scale: limit ? scale / limit : scale,
    };
  });
}

function withLimit(source: ChartSource, limit: number): ChartSource {
  return {
    ...source,
    read: (from, to) => {
      const columns = source.read(from, to);
      const line = new Float64Array(columns.rows[0]?.length ?? 0).fill(limit);
      return { ...columns, rows: [...columns.rows, line] };
    },
  };
}

/** Name of the object for exported images; undefined for several objects. */
function useSubject(topic: string, uids: readonly string[]): string | undefined {
  const [uid] = uids;
  const { data: name } = useQuery({
    ...bdbsQuery,
    select: (bdbs) => withDisplayNames(bdbs).find((bdb) => String(bdb.uid) === uid)?.name,
  });
  if (uids.length !== 1) return undefined;
  if (topic === 'bdbs') return name;
  if (topic === 'nodes') return `node ${uid}`;
  return topic === 'shards' ? `redis:${uid}` : undefined;
}

/** API call and PromQL query that return the values of the chart. */
function useQueries(
  topic: string,
  uids: readonly string[],
  declaration: ChartDeclaration,
  series: readonly { scale: number }[],
): Pick<ChartSpec, 'apiCall'> & { promql?: string } {
  const live = useLive();
  const axis = useTimeAxis();
  const key = uids.join();
  const scales = series.map(({ scale }) => scale).join();
  return useMemo(() => {
    const ids = key.split(',');
    const scaled = scales.split(',').map(Number);
    const named = declaration.series.map((entry, at) => ({ ...entry, scale: scaled[at] ?? 1 }));
    const query = promql(topic, ids, named);
    const metrics = declaration.series.map(({ metric }) => metric);
    return {
      apiCall: (from, to) => {
        const points = Math.max(
          1,
          intervalCount(from, to, stepOf(axis, { from, to }, live.edge())),
        );
        const path = historyPath({ topic, uids: ids, metrics, from, to, points });
        return `curl -k -u "<user>:<password>" "${location.origin}${path}"`;
      },
      ...(query && { promql: query }),
    };
  }, [live, axis, topic, key, scales, declaration]);
}

/** Metrics that the console provides for a topic. */
function useMetricNames(topic: string): readonly string[] {
  const live = useLive();
  return useSyncExternalStore(
    (listener) => live.onTick(listener),
    () => live.ring(topic).metrics,
  );
}
