/** Chart of lines or a stack: plot, crosshair, legend. */
import { type ReactNode, useCallback, useRef, useState } from 'react';
import { interval } from '@/lib/dates';
import { clock, duration } from '@/lib/time';
import { isolate } from './data/isolate';
import type { Prepared } from './data/prepare';
import { useEventMarksVisible } from './eventMarksSetting';
import { Legend, type LegendHandle } from './Legend';
import { type CreatePlot, PlotCard, useLatest } from './PlotCard';
import { ChartPlot } from './plot/chartPlot';
import { describeShades, extremesOf } from './plot/extremes';
import { Tooltip, type TooltipHandle } from './Tooltip';
import type { ChartMark, ChartSpec } from './types';

interface Props {
  spec: ChartSpec;
  height?: number;
  marks?: readonly ChartMark[];
  /** Whether to omit the legend of a single series, whose value is shown at the edge of the plot. */
  compact?: boolean;
  /** Whether the page shows one time axis for all plots, so that the chart has no time labels. */
  isAxisShared?: boolean;
  /** Additional entries at the top of the menu. */
  menu?: ReactNode;
  actions?: ReactNode;
}

const NO_MARKS: readonly ChartMark[] = [];

export function Chart(props: Props) {
  const { spec, height = 150, compact = false, isAxisShared = false } = props;
  const marks = (useEventMarksVisible() && props.marks) || NO_MARKS;
  const legend = useRef<LegendHandle>(null);
  const tooltip = useRef<TooltipHandle>(null);
  const [visible, setVisible] = useState<readonly boolean[]>([]);
  const visibleNow = useLatest(visible);
  const [log, setLog] = useState(false);

  const build = useCallback<CreatePlot>(
    (context) => {
      const chart: ChartPlot = new ChartPlot({
        ...context,
        spec,
        log,
        isAxisShared,
        visible: () => visibleNow.current,
        onData: (data) => {
          const any = data.raw.some(
            (row, i) => !spec.series[i]?.limit && row.some((value) => !Number.isNaN(value)),
          );
          const emptyReason = spec.source.reason?.() ?? spec.emptyReason;
          context.showEmpty({
            any,
            pending: spec.source.pending?.() ?? false,
            reason: emptyReason ?? 'There are no samples in this time range.',
          });
          const shades = extremesOf(spec, data, visibleNow.current);
          context.showResolution(
            any ? resolutionOf(spec, data, compact) : '',
            describeShades(spec.kind, shades),
          );
        },
        onCursor: (index, left, isHovered) => {
          const { x, step, raw } = chart.data;
          const middle = index === null ? undefined : x[index];
          if (index === null || middle === undefined) {
            legend.current?.show(chart.data, null, null);
            tooltip.current?.hide();
            return;
          }
          const start = middle - Math.floor(step / 2);
          legend.current?.show(chart.data, index, clock(start * 1000, context.zone));
          if (!isHovered) tooltip.current?.hide();
          else {
            const hidden = (at: number) => visibleNow.current[at] === false;
            const values = raw.map((row, at) =>
              hidden(at) ? Number.NaN : (row[index] ?? Number.NaN),
            );
            const time = interval(start, step, context.zone);
            tooltip.current?.show({ left, width: context.width(), time, values });
          }
        },
      });
      return chart;
    },
    [spec, log, compact, isAxisShared, visibleNow],
  );

  const toggle = (index: number, add: boolean) => {
    setVisible((now) => isolate(now, spec.series.length, index, add));
  };

  return (
    <PlotCard
      id={spec.id}
      title={spec.title}
      height={height}
      marks={marks}
      source={spec.source}
      build={build}
      version={visible}
      compact={compact}
      menu={{
        of: spec,
        log,
        onLog: spec.unit === 'latency' || spec.unit === 'ms' ? setLog : undefined,
        marks: props.marks !== undefined,
        extra: props.menu,
      }}
      actions={props.actions}
      tooltip={<Tooltip ref={tooltip} series={spec.series} unit={spec.unit} />}
      legend={
        !(compact && spec.series.length === 1) && (
          <Legend
            ref={legend}
            series={spec.series}
            unit={spec.unit}
            visible={visible}
            onToggle={toggle}
          />
        )
      }
    />
  );
}

/** Return a text about the resolution if intervals are longer than a second. */
function resolutionOf(spec: ChartSpec, { step }: Prepared, compact: boolean): string {
  if (step === 1) return '';
  // A percentile of an interval is not an average.
  const percentiles = spec.series.every(({ noAverage, limit }) => noAverage || limit);
  const average = compact ? 'avg' : 'averages';
  return `${duration(step)} ${spec.rollup === 'last' ? 'values' : percentiles ? 'intervals' : average}`;
}
