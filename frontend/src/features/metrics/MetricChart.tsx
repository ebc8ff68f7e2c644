/** A declared chart on live data. */
import { type ReactNode, useMemo } from 'react';
import { useSeries } from '@/live/useSeries';
import { Chart } from '@/ui/chart/Chart';
import { COLOR } from '@/ui/chart/palette';
import type { ChartMark, ChartSpec } from '@/ui/chart/types';
import type { ChartDeclaration } from './dashboards';

interface Props {
  declaration: ChartDeclaration;
  topic: string;
  uid: string;
  /** Values behind the declared limit lines. */
  limits?: Readonly<Record<string, number | undefined>> | undefined;
  marks?: readonly ChartMark[] | undefined;
  height?: number;
  actions?: ReactNode;
}

export function MetricChart(props: Props) {
  const { declaration, topic, uid, limits, marks, height, actions } = props;
  const series = declaration.series.map(({ metric }) => ({ uids: [uid], metric }));
  const source = useSeries({ topic, series });
  const limit = declaration.limit && limits?.[declaration.limit.key];
  const spec = useMemo((): ChartSpec => {
    const call = `curl -k -N -u "<user>:<password>" "${location.origin}/v1/stream?topics=${topic}&history=900"`;
    const base: ChartSpec = {
      title: declaration.title,
      unit: declaration.unit,
      kind: declaration.kind,
      series: declaration.series.map(({ label, color }) => ({ label, color })),
      source,
      apiCall: () => call,
    };
    if (declaration.max) base.max = declaration.max;
    if (declaration.emptyReason) base.emptyReason = declaration.emptyReason;
    if (!declaration.limit || !limit) return base;
    return {
      ...base,
      series: [...base.series, { label: declaration.limit.label, color: COLOR.limit, limit: true }],
      source: {
        ...source,
        read: (from, to) => {
          const columns = source.read(from, to);
          const line = new Float64Array(columns.rows[0]?.length ?? 0).fill(limit);
          return { ...columns, rows: [...columns.rows, line] };
        },
      },
    };
  }, [source, topic, declaration, limit]);

  return (
    <Chart
      spec={spec}
      {...(marks ? { marks } : {})}
      {...(height ? { height } : {})}
      actions={actions}
    />
  );
}
