/** Base class of plots over time: a uPlot instance that follows the size of its host, the time axis, the synchronized crosshair,
 * zoom by dragging, and marks under the pointer. */
import uPlot from 'uplot';
import type { Zone } from '@/lib/time';
import { resolveColor } from '../palette';
import { sharedStep, ticksOf } from '../ticks';
import type { ChartMark, TimeAxis } from '../types';
import { bandOf } from './decorate';
import { TIME_STEPS, timeLabel } from './timeTicks';

const SYNC_KEY = 'page';
const FONT = '11px system-ui, sans-serif';
/** Approximate character width in pixels. */
const CHARACTER = 6.5;

/** Style of both axes. */
export const axisStyle = () => ({
  stroke: resolveColor('var(--text-dim)'),
  grid: { stroke: resolveColor('var(--grid)'), width: 1 },
  ticks: { show: false },
  font: FONT,
});

export const yAxisSize = { size: 58, gap: 4 };

export const timeZone = (zone: Zone): Pick<uPlot.Options, 'tzDate'> =>
  zone === 'utc' ? { tzDate: (ts: number) => uPlot.tzDate(new Date(ts * 1e3), 'Etc/UTC') } : {};

/** Time axis without labels, because the page shows one axis for all plots. Its grid has the same positions. */
const unlabeledAxis = (zone: Zone): uPlot.Axis => ({
  ...axisStyle(),
  size: 8,
  gap: 0,
  splits: (_, __, min, max) =>
    ticksOf(min, max, sharedStep(max - min), zone).filter((at) => at >= min && at <= max),
  values: (_, splits) => splits.map(() => ''),
});

export const timeAxis = (zone: Zone, isShared = false): uPlot.Axis =>
  isShared ? unlabeledAxis(zone) : labeledAxis(zone);

const labeledAxis = (zone: Zone): uPlot.Axis => ({
  ...axisStyle(),
  size: 24,
  gap: 2,
  space: 70,
  incrs: TIME_STEPS,
  values: (plot, splits) =>
    splits.map((second) => {
      const label = timeLabel(second, (splits[1] ?? 60) - (splits[0] ?? 0), zone);
      const middle = plot.valToPos(second, 'x');
      // A label at the left end would overlap the zero of the y axis; at the right end it would be cut off.
      const right = plot.width - plot.bbox.left / uPlot.pxRatio - middle;
      return middle < 16 || right < (label.length * CHARACTER) / 2 ? '' : label;
    }),
});

export const timeScale = (axis: TimeAxis): uPlot.Scale => ({
  time: true,
  range: () => {
    const { from, to } = axis.window();
    return [from, to];
  },
});

/** Crosshair that all plots of the page share. Dragging zooms; a double click resets the zoom. */
export const crosshair = (axis: TimeAxis): uPlot.Cursor => ({
  y: false,
  points: { size: 5 },
  drag: { x: true, y: false, setScale: false },
  sync: { key: SYNC_KEY, setSeries: false },
  bind: {
    dblclick: () => () => {
      axis.reset();
      return null;
    },
  },
});

export function zoomTo(plot: uPlot, axis: TimeAxis): void {
  const { left, width } = plot.select;
  if (width < 6) return;
  const from = Math.round(plot.posToVal(left, 'x'));
  const to = Math.round(plot.posToVal(left + width, 'x'));
  plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  if (to - from >= 4) axis.zoom(from, to);
}

/** Return the closest instant, or the shortest span if there is none. */
export function markAt(plot: uPlot, marks: readonly ChartMark[], left: number): ChartMark | null {
  const distance = (mark: ChartMark) => Math.abs(plot.valToPos(mark.at / 1000, 'x') - left);
  const [instant] = marks
    .filter((mark) => mark.until === undefined && distance(mark) < 6)
    .sort((a, b) => distance(a) - distance(b));
  if (instant) return instant;
  const [span] = marks
    .flatMap((mark) => {
      const band = bandOf(plot, mark, false);
      const inside = band && left >= band[0] - 3 && left <= band[1] + 3;
      return inside ? [{ mark, width: band[1] - band[0] }] : [];
    })
    .sort((a, b) => a.width - b.width);
  return span?.mark ?? null;
}

/** Host element and settings of a plot. */
export interface PlotShell {
  host: HTMLElement;
  axis: TimeAxis;
  height: number;
  zone: Zone;
  marks: () => readonly ChartMark[];
  onMark: (mark: ChartMark | null, left: number) => void;
}

export abstract class TimePlot<Options extends PlotShell> {
  protected readonly plot: uPlot;
  private readonly observer: ResizeObserver;
  /** The mark under the pointer. */
  private nearestMark: ChartMark | null = null;

  constructor(protected readonly options: Options) {
    const { host, height } = options;
    this.plot = new uPlot(this.settings(host.clientWidth || 300, height), [[]], host);
    this.observer = new ResizeObserver(() => {
      if (host.clientWidth) this.plot.setSize({ width: host.clientWidth, height });
    });
    this.observer.observe(host);
    this.plot.over.addEventListener('click', () => this.nearestMark?.open?.());
  }

  /** Read the source and draw. */
  abstract update(): void;
  abstract csv(): string;
  /** Seconds of one interval. */
  abstract step(): number;

  /** Called by the constructor, so only callbacks that run later can use fields of the subclass. */
  protected abstract settings(width: number, height: number): uPlot.Options;

  canvas(): HTMLCanvasElement {
    return this.plot.ctx.canvas;
  }

  destroy(): void {
    this.observer.disconnect();
    this.plot.destroy();
  }

  /** Distance from the left edge of the host to the crosshair in pixels. */
  protected get left(): number {
    return (this.plot.cursor.left ?? -1) + this.plot.bbox.left / uPlot.pxRatio;
  }

  /** Whether the pointer is on this plot, not on another plot with a synchronized crosshair. */
  protected get isHovered(): boolean {
    return (this.plot.cursor.left ?? -1) >= 0 && this.plot.over.matches(':hover');
  }

  /** Show the mark under the pointer. Plots with a synchronized crosshair show none. */
  protected showMark(): void {
    const { marks, onMark } = this.options;
    this.nearestMark = this.isHovered
      ? markAt(this.plot, marks(), this.plot.cursor.left ?? -1)
      : null;
    this.plot.over.style.cursor = this.nearestMark?.open ? 'pointer' : '';
    onMark(this.nearestMark, this.left);
  }
}
