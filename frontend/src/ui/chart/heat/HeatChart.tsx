/** A heat map as a card: title, plot, legend. Redrawn in place; React renders only when its source changes. */
import { useComputedColorScheme } from '@mantine/core';
import { type ReactNode, useEffect, useMemo, useRef } from 'react';
import { interval } from '@/lib/dates';
import { duration } from '@/lib/time';
import { useZone } from '../../zone';
import classes from '../Chart.module.css';
import { ChartMenu } from '../ChartMenu';
import { Empty, sayEmpty } from '../Empty';
import { onScreen } from '../onScreen';
import { sayMark } from '../overlay';
import { useTimeAxis } from '../TimeAxisContext';
import type { ChartMark } from '../types';
import { HeatLegend, type HeatLegendHandle } from './HeatLegend';
import { HeatTooltip, type HeatTooltipHandle } from './HeatTooltip';
import heatClasses from './heat.module.css';
import { HeatPlot } from './heatPlot';
import type { HeatSource } from './types';
import 'uplot/dist/uPlot.min.css';

interface Props {
  id: string;
  title: string;
  source: HeatSource;
  marks: readonly ChartMark[];
  height: number;
  /** Why there may be nothing to see. */
  emptyReason: string;
  actions?: ReactNode;
}

export function HeatChart({ id, title, source, marks, height, emptyReason, actions }: Props) {
  const axis = useTimeAxis();
  const zone = useZone();
  const scheme = useComputedColorScheme('light');
  const host = useRef<HTMLDivElement>(null);
  const empty = useRef<HTMLDivElement>(null);
  const bubble = useRef<HTMLDivElement>(null);
  const resolution = useRef<HTMLSpanElement>(null);
  const legend = useRef<HeatLegendHandle>(null);
  const tooltip = useRef<HeatTooltipHandle>(null);
  const plot = useRef<HeatPlot | null>(null);
  const redraw = useRef(() => {});
  const marksNow = useRef(marks);
  const menu = useMemo(() => ({ id, title, apiCall: source.apiCall }), [id, title, source]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new colour scheme needs a new plot, its colours are read once
  useEffect(() => {
    if (!host.current) return;
    const chart = new HeatPlot({
      host: host.current,
      source,
      axis,
      height,
      zone,
      marks: () => marksNow.current,
      onData: (heat, extent, scale) => {
        legend.current?.show(heat, extent && scale);
        const counted = heat.columns.some((column) => column?.seconds);
        sayEmpty(empty.current, {
          any: extent !== null,
          pending: source.pending?.() ?? false,
          reason:
            source.reason() ?? (counted ? emptyReason : 'Nobody counted requests in this time.'),
        });
        if (resolution.current) {
          resolution.current.textContent =
            heat.step > 1 && extent ? `${duration(heat.step)} columns` : '';
        }
      },
      onCursor: (at) => {
        if (!at || at.row === null) {
          tooltip.current?.hide();
          return;
        }
        const { step, perDecade } = plot.current?.heat ?? chart.heat;
        const { left, column, row, from } = at;
        const width = host.current?.clientWidth ?? 0;
        const time = interval(from, step, zone);
        tooltip.current?.show({ left, width, time, column, row, perDecade });
      },
      onMark: (mark, left) =>
        sayMark(bubble.current, mark, { left, width: host.current?.clientWidth ?? 0 }, zone),
    });
    plot.current = chart;
    const seen = onScreen(host.current, () => chart.update());
    redraw.current = seen.draw;
    const stops = [seen.stop, source.subscribe(seen.draw), axis.subscribe(seen.draw)];
    chart.update();
    return () => {
      for (const stop of stops) stop();
      plot.current = null;
      chart.destroy();
    };
  }, [source, axis, height, zone, scheme, emptyReason]);

  useEffect(() => {
    marksNow.current = marks;
    redraw.current();
  }, [marks]);

  return (
    <section id={id} className={classes.card} aria-label={title}>
      <header className={classes.header}>
        <h2 className={classes.title}>{title}</h2>
        <span ref={resolution} className={classes.resolution} />
        {actions}
        <ChartMenu of={menu} drawn={() => plot.current} />
      </header>
      <div className={classes.body} style={{ height }}>
        <div ref={host} className={`${classes.plot} ${heatClasses.plot}`} />
        <div ref={bubble} className={classes.bubble} hidden />
        <Empty ref={empty} />
        <HeatTooltip ref={tooltip} />
      </div>
      <HeatLegend ref={legend} />
    </section>
  );
}
