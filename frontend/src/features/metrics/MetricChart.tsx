/** A declared chart on live data. */
import { type ReactNode, useMemo } from 'react';
import { useLive } from '@/live/LiveProvider';
import { ringSource } from '@/live/source';
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
  const live = useLive();
  const limit = declaration.limit && limits?.[declaration.limit.key];
  const spec = useMemo((): ChartSpec => {
    const source = ringSource(
      live,
      topic,
      declaration.series.map(({ metric }) => ({ uid, metric })),
    );
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
          const line = new Float64Array(to - from + 1).fill(limit);
          return { ...columns, rows: [...columns.rows, line] };
        },
      },
    };
  }, [live, topic, uid, declaration, limit]);

  return (
    <Chart
      spec={spec}
      {...(marks ? { marks } : {})}
      {...(height ? { height } : {})}
      actions={actions}
    />
  );
}
