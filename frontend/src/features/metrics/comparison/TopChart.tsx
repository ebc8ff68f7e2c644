/** Chart with the highest series as lines, and a band between the lowest and highest of the others. */
import { useMemo } from 'react';
import { useSeries } from '@/live/useSeries';
import { Chart } from '@/ui/chart/Chart';
import { CYCLE } from '@/ui/chart/palette';
import type { ChartMark, ChartSpec } from '@/ui/chart/types';
import { type ComparedMetric, type ComparedObject, comparisonSeries } from './comparisonMetrics';
import { MAX_CHART_LINES } from './useRanking';

const REST = 'var(--series-slate)';

interface Props {
  topic: string;
  metric: ComparedMetric;
  ranked: readonly ComparedObject[];
  topicSize: number;
  marks: readonly ChartMark[];
}

export function TopChart({ topic, metric, ranked, topicSize, marks }: Props) {
  // The band requires single objects: the highest sum of a group cannot be derived from its members.
  const single = ranked.every(({ uids }) => uids.length === 1);
  const split = single && ranked.length > MAX_CHART_LINES + 1 ? MAX_CHART_LINES : ranked.length;
  const top = ranked.slice(0, split);
  const uids = ranked.slice(split).flatMap((group) => group.uids);
  const totals = (['max', 'min'] as const).map((rule) => ({ uids, metric: metric.metric, rule }));
  const lines = comparisonSeries(top, metric);
  const source = useSeries({
    topic,
    series: uids.length ? [...lines, ...totals] : lines,
    topicSize,
  });
  const labels = top.map(({ label }) => label).join('\n');
  const others = uids.length;
  const spec = useMemo((): ChartSpec => {
    const series = labels.split('\n').map((label, index) => ({
      label,
      color: CYCLE[index % (CYCLE.length - 1)] ?? CYCLE[0],
    }));
    const band = [
      { label: `highest of ${others} others`, color: REST, shadeTo: series.length + 1 },
      { label: `lowest of ${others} others`, color: REST },
    ];
    return {
      id: 'compared',
      title: metric.title,
      unit: metric.unit,
      kind: 'lines',
      series: others ? [...series, ...band] : series,
      source,
      emptyReason: 'No samples in this time range.',
    };
  }, [source, metric, labels, others]);
  return <Chart spec={spec} height={340} marks={marks} />;
}
