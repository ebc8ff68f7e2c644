/** Card around a plot: title, menu and overlays. The plot is redrawn in place; React renders only when the declaration changes. */
import { useComputedColorScheme } from '@mantine/core';
import {
  type ComponentProps,
  type ReactNode,
  type RefObject,
  useEffect,
  useLayoutEffect,
  useRef,
} from 'react';
import type { Zone } from '@/lib/time';
import { usePrinting } from '../usePrinting';
import { useZone } from '../useZone';
import classes from './Chart.module.css';
import { ChartMenu } from './ChartMenu';
import { EmptyPlot, showEmptyReason } from './EmptyPlot';
import { onScreen } from './plot/onScreen';
import { showMark } from './plot/overlay';
import type { PlotShell, TimePlot } from './plot/timePlot';
import { useTimeAxis } from './TimeAxisContext';
import type { ChartMark } from './types';
import 'uplot/dist/uPlot.min.css';

/** Interface between a plot and its card. */
export interface PlotContext extends PlotShell {
  /** Sets the text for the length of an interval, and its tooltip. */
  showResolution: (text: string, title?: string) => void;
  showEmpty: (state: { any: boolean; pending: boolean; reason: string }) => void;
  /** Pixels. */
  width: () => number;
  zone: Zone;
}

export type CreatePlot = (context: PlotContext) => TimePlot<PlotShell>;

interface Props {
  id?: string | undefined;
  title: string;
  height: number;
  marks: readonly ChartMark[];
  source: { subscribe: (listener: () => void) => () => void };
  /** Creates the plot. A different function creates it again. */
  build: CreatePlot;
  /** A change of this value redraws the plot. */
  version?: unknown;
  compact?: boolean;
  menu: Omit<ComponentProps<typeof ChartMenu>, 'drawn'>;
  plotClass?: string | undefined;
  actions?: ReactNode;
  tooltip: ReactNode;
  legend: ReactNode;
}

export function PlotCard(props: Props) {
  const { id, title, height, marks, source, build, version, compact = false, menu } = props;
  const axis = useTimeAxis();
  const zone = useZone();
  const scheme = useComputedColorScheme('light');
  const printing = usePrinting();
  const host = useRef<HTMLDivElement>(null);
  const empty = useRef<HTMLDivElement>(null);
  const markLabel = useRef<HTMLDivElement>(null);
  const resolution = useRef<HTMLSpanElement>(null);
  const plot = useRef<TimePlot<PlotShell> | null>(null);
  const redraw = useRef(() => {});
  const marksNow = useLatest(marks);

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new color scheme requires a new plot, because colors are read once; printing draws all plots
  useEffect(() => {
    if (!host.current) return;
    const width = () => host.current?.clientWidth ?? 0;
    const newPlot = build({
      host: host.current,
      axis,
      height,
      zone,
      width,
      marks: () => marksNow.current,
      onMark: (mark, left) => showMark(markLabel.current, mark, { left, width: width() }, zone),
      showEmpty: (state) => showEmptyReason(empty.current, state),
      showResolution: (text, tooltip = '') => {
        if (!resolution.current) return;
        resolution.current.textContent = text;
        resolution.current.title = tooltip;
      },
    });
    plot.current = newPlot;
    const visibility = onScreen(host.current, () => newPlot.update());
    redraw.current = visibility.draw;
    const stops = [
      visibility.stop,
      source.subscribe(visibility.draw),
      axis.subscribe(visibility.draw),
    ];
    newPlot.update();
    return () => {
      for (const stop of stops) stop();
      plot.current = null;
      newPlot.destroy();
    };
  }, [build, source, axis, height, zone, scheme, printing]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: changes of these values redraw the plot
  useEffect(() => redraw.current(), [marks, version]);

  return (
    <section
      id={id}
      className={classes.card}
      data-compact={compact || undefined}
      aria-label={title}
    >
      <header className={classes.header}>
        <h2 className={classes.title}>{title}</h2>
        <span ref={resolution} className={classes.resolution} />
        {props.actions}
        <ChartMenu {...menu} drawn={() => plot.current} />
      </header>
      <div className={classes.body} style={{ height }}>
        <div ref={host} className={[classes.plot, props.plotClass].filter(Boolean).join(' ')} />
        <div ref={markLabel} className={classes.bubble} hidden />
        <EmptyPlot ref={empty} />
        {props.tooltip}
      </div>
      {props.legend}
    </section>
  );
}

/** Return a ref to the value of the last render, for later reads. It is set before all effects, including those of children. */
export function useLatest<T>(value: T): RefObject<T> {
  const latest = useRef(value);
  useLayoutEffect(() => {
    latest.current = value;
  });
  return latest;
}
