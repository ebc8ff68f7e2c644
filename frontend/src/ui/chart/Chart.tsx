/** The one chart: title, plot, legend. Redrawn in place; React renders only when the spec changes. */
import { useComputedColorScheme } from '@mantine/core';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { interval } from '@/lib/dates';
import { clock, duration } from '@/lib/time';
import { useZone } from '../zone';
import classes from './Chart.module.css';
import { ChartMenu } from './ChartMenu';
import { Empty, sayEmpty } from './Empty';
import { isolate } from './isolate';
import { Legend, type LegendHandle } from './Legend';
import { useMarksShown } from './marksShown';
import { onScreen } from './onScreen';
import { sayMark } from './overlay';
import { ChartPlot } from './plot';
import { useTimeAxis } from './TimeAxisContext';
import { Tooltip, type TooltipHandle } from './Tooltip';
import type { ChartMark, ChartSpec } from './types';
import 'uplot/dist/uPlot.min.css';

interface Props {
  spec: ChartSpec;
  height?: number;
  marks?: readonly ChartMark[];
  /** Small: a single series needs no legend, the edge of the plot says its value. */
  compact?: boolean;
  /** More entries on top of the menu. */
  menu?: ReactNode;
  actions?: ReactNode;
}

const NO_MARKS: readonly ChartMark[] = [];

export function Chart(props: Props) {
  const { spec, height = 150, compact = false, menu, actions } = props;
  const marks = (useMarksShown() && props.marks) || NO_MARKS;
  const axis = useTimeAxis();
  const zone = useZone();
  const scheme = useComputedColorScheme('light');
  const host = useRef<HTMLDivElement>(null);
  const empty = useRef<HTMLDivElement>(null);
  const bubble = useRef<HTMLDivElement>(null);
  const legend = useRef<LegendHandle>(null);
  const tooltip = useRef<TooltipHandle>(null);
  const resolution = useRef<HTMLSpanElement>(null);
  const plot = useRef<ChartPlot | null>(null);
  const redraw = useRef(() => {});
  const marksNow = useRef(marks);
  const [visible, setVisible] = useState<readonly boolean[]>([]);
  const visibleNow = useRef(visible);
  const [log, setLog] = useState(false);

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new colour scheme needs a new plot, its colours are read once
  useEffect(() => {
    if (!host.current) return;
    const chart = new ChartPlot({
      host: host.current,
      spec,
      axis,
      height,
      log,
      zone,
      marks: () => marksNow.current,
      visible: () => visibleNow.current,
      onData: (data) => {
        const any = data.raw.some(
          (row, i) => !spec.series[i]?.limit && row.some((value) => !Number.isNaN(value)),
        );
        const why = spec.source.reason?.() ?? spec.emptyReason;
        sayEmpty(empty.current, {
          any,
          pending: spec.source.pending?.() ?? false,
          reason: why ?? 'No sample arrived in this time range.',
        });
        if (resolution.current) {
          // A percentile of an interval is no average.
          const percentiles = spec.series.every(({ noAverage, limit }) => noAverage || limit);
          const average = compact ? 'avg' : 'averages';
          const word = spec.rollup === 'last' ? 'values' : percentiles ? 'intervals' : average;
          const text = data.step > 1 && any ? `${duration(data.step)} ${word}` : '';
          resolution.current.textContent = text;
        }
      },
      onCursor: (index, left, own) => {
        const { x, step, raw } = chart.data;
        const middle = index === null ? undefined : x[index];
        if (index === null || middle === undefined) {
          legend.current?.show(chart.data, null, null);
          tooltip.current?.hide();
          return;
        }
        const begin = middle - Math.floor(step / 2);
        legend.current?.show(chart.data, index, clock(begin * 1000, zone));
        if (!own) tooltip.current?.hide();
        else {
          const hidden = (at: number) => visibleNow.current[at] === false;
          const values = raw.map((row, at) =>
            hidden(at) ? Number.NaN : (row[index] ?? Number.NaN),
          );
          const width = host.current?.clientWidth ?? 0;
          tooltip.current?.show({ left, width, time: interval(begin, step, zone), values });
        }
      },
      onMark: (mark, left) =>
        sayMark(bubble.current, mark, { left, width: host.current?.clientWidth ?? 0 }, zone),
    });
    plot.current = chart;
    const seen = onScreen(host.current, () => chart.update());
    redraw.current = seen.draw;
    const stops = [seen.stop, spec.source.subscribe(seen.draw), axis.subscribe(seen.draw)];
    chart.update();
    return () => {
      for (const stop of stops) stop();
      plot.current = null;
      chart.destroy();
    };
  }, [spec, axis, height, log, zone, scheme, compact]);

  useEffect(() => {
    marksNow.current = marks;
    visibleNow.current = visible;
    redraw.current();
  }, [marks, visible]);

  const toggle = (index: number, add: boolean) => {
    setVisible((now) => isolate(now, spec.series.length, index, add));
  };

  return (
    <section
      id={spec.id}
      className={classes.card}
      data-compact={compact || undefined}
      aria-label={spec.title}
    >
      <header className={classes.header}>
        <h2 className={classes.title}>{spec.title}</h2>
        <span ref={resolution} className={classes.resolution} />
        {actions}
        <ChartMenu
          of={spec}
          drawn={() => plot.current}
          log={log}
          onLog={spec.unit === 'latency' || spec.unit === 'ms' ? setLog : undefined}
          marks={props.marks !== undefined}
          extra={menu}
        />
      </header>
      <div className={classes.body} style={{ height }}>
        <div ref={host} className={classes.plot} />
        <div ref={bubble} className={classes.bubble} hidden />
        <Empty ref={empty} />
        <Tooltip ref={tooltip} series={spec.series} unit={spec.unit} />
      </div>
      {!(compact && spec.series.length === 1) && (
        <Legend
          ref={legend}
          series={spec.series}
          unit={spec.unit}
          visible={visible}
          onToggle={toggle}
        />
      )}
    </section>
  );
}
