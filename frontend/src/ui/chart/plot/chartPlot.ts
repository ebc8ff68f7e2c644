/** Plot of lines or a stack over time: axes, gaps, shades, values at the right edge. */
import type uPlot from 'uplot';
import { axisLabels } from '@/lib/format';
import {
  EMPTY_DATA,
  isBlank,
  maxLateIntervals,
  niceCeiling,
  type Prepared,
  prepare,
  toCsv,
} from '../data/prepare';
import { resolveColor } from '../palette';
import type { ChartSpec } from '../types';
import { drawBands, drawEdgeValues, drawMarks, EDGE_WIDTH } from './decorate';
import { drawExtremes, extremesOf } from './extremes';
import { decades, positive } from './logScale';
import {
  axisStyle,
  crosshair,
  type PlotShell,
  TimePlot,
  timeAxis,
  timeScale,
  timeZone,
  yAxisSize,
  zoomTo,
} from './timePlot';

const BINARY_STEPS = Array.from({ length: 50 }, (_, power) => 2 ** power);

export interface PlotOptions extends PlotShell {
  spec: ChartSpec;
  /** Whether the y axis is logarithmic. */
  log: boolean;
  /** Whether the page shows one time axis for all plots. */
  isAxisShared: boolean;
  visible: () => readonly boolean[];
  onData: (data: Prepared) => void;
  /** Index of the interval under the crosshair, null if there is none; `left` is in pixels. */
  onCursor: (index: number | null, left: number, isHovered: boolean) => void;
}

export class ChartPlot extends TimePlot<PlotOptions> {
  data: Prepared = EMPTY_DATA;
  private y: [number, number] = [0, 1];

  update(): void {
    const { axis, spec } = this.options;
    const { from, to } = axis.window();
    const visible = this.options.visible();
    const columns = spec.source.read(from, to);
    const visibleRows = columns.rows.map((values, index) =>
      visible[index] === false ? new Float64Array(values.length).fill(Number.NaN) : values,
    );
    this.data = prepare(columns, spec.kind, visibleRows);
    const { drawn } = this.data;
    this.y = this.options.log
      ? decades([...drawn, ...this.extremes()])
      : [0, spec.max ?? this.ceiling(drawn)];
    const lines = this.options.log ? drawn.map(positive) : drawn;
    this.plot.setData([this.data.x, ...lines] as uPlot.AlignedData, true);
    this.options.onData(this.data);
    this.cursor();
  }

  csv(): string {
    const { series, unit } = this.options.spec;
    return toCsv(
      this.data,
      series.map(({ label }) => `${label} (${unit})`),
    );
  }

  step(): number {
    return this.data.step;
  }

  /** Return the lowest and highest seconds that are shaded; NaN if unknown. */
  private extremes(): Float64Array[] {
    const shades = extremesOf(this.options.spec, this.data, this.options.visible());
    return shades.flatMap(({ low, high }) => [low, high]);
  }

  private ceiling(drawn: (number | null)[][]): number {
    let max = 0;
    for (const row of drawn)
      for (const value of row) if (value !== null && value > max) max = value;
    for (const row of this.extremes()) for (const value of row) if (value > max) max = value;
    const { unit } = this.options.spec;
    return niceCeiling(max * 1.06, unit === 'bytes' || unit === 'bytesPerSecond');
  }

  protected settings(width: number, height: number): uPlot.Options {
    const { spec, axis, zone, log, isAxisShared } = this.options;
    const binary = spec.unit === 'bytes' || spec.unit === 'bytesPerSecond';
    return {
      width,
      height,
      padding: [8, EDGE_WIDTH, 0, 0],
      legend: { show: false },
      ...timeZone(zone),
      cursor: crosshair(axis),
      scales: {
        x: timeScale(axis),
        y: { range: () => this.y, ...(log ? { distr: 3 } : {}) },
      },
      axes: [
        timeAxis(zone, isAxisShared),
        {
          ...axisStyle(),
          ...yAxisSize,
          space: 34,
          ...(binary ? { incrs: BINARY_STEPS } : {}),
          values: (_, splits) => this.labels(splits),
        },
      ],
      series: [{}, ...spec.series.map((series, index) => this.line(series, index))],
      bands: spec.kind === 'stacked' ? this.bands() : this.shades(),
      hooks: {
        setSelect: [(plot) => zoomTo(plot, axis)],
        setCursor: [() => this.moved()],
        drawClear: [
          (plot) => drawBands(plot, this.options.marks()),
          (plot) => drawExtremes(plot, spec, this.data, this.options.visible()),
        ],
        draw: [(plot) => this.decorate(plot)],
      },
    };
  }

  private labels(splits: readonly number[]): string[] {
    const { spec, log } = this.options;
    if (spec.max === undefined && isBlank(this.data.drawn)) return splits.map(() => '');
    return log ? sparse(spec.unit, splits) : axisLabels(spec.unit, splits);
  }

  private line(series: ChartSpec['series'][number], index: number): uPlot.Series {
    const stroke = resolveColor(series.color);
    const stacked = this.options.spec.kind === 'stacked';
    return {
      label: series.label,
      // A hidden layer of a stack stays in the sum, but is transparent.
      stroke: () => (this.options.visible()[index] === false ? 'transparent' : stroke),
      width: series.limit ? 1 : 1.5,
      ...(series.limit ? { dash: [6, 4] } : {}),
      ...(stacked && index === 0 ? { fill: this.layer(index, stroke) } : {}),
      points: { show: (plot, at) => hasIsolatedSample(plot.data[at]), size: 3, fill: stroke },
      spanGaps: false,
    };
  }

  private bands(): uPlot.Band[] {
    return this.options.spec.series.slice(1).map((series, index) => ({
      series: [index + 2, index + 1],
      fill: this.layer(index + 1, resolveColor(series.color)),
    }));
  }

  private shades(): uPlot.Band[] {
    return this.options.spec.series.flatMap(({ shadeTo, color }, index) =>
      shadeTo === undefined
        ? []
        : [{ series: [index + 1, shadeTo + 1], fill: this.layer(index, resolveColor(color)) }],
    );
  }

  private layer(index: number, color: string): () => string {
    return () => (this.options.visible()[index] === false ? 'transparent' : `${color}38`);
  }

  private cursor(): void {
    this.options.onCursor(this.plot.cursor.idx ?? null, this.left, this.isHovered);
  }

  private moved(): void {
    this.cursor();
    this.showMark();
  }

  private decorate(plot: uPlot): void {
    const { spec, axis, marks } = this.options;
    plot.ctx.save();
    drawMarks(plot, marks(), axis.window());
    drawEdgeValues(plot, spec, maxLateIntervals(this.data.step));
    plot.ctx.restore();
  }
}

/** Format the labels of a logarithmic axis. Each tick has a separate unit, and some ticks have no label. */
const sparse = (unit: ChartSpec['unit'], splits: readonly (number | null)[]): string[] =>
  splits.map((split) => (split === null ? '' : axisLabels(unit, [split]).join()));

/** Return whether a row has a sample between two gaps, which has no line and is drawn as a point. */
function hasIsolatedSample(values: ArrayLike<number | null | undefined> | undefined): boolean {
  if (!values) return false;
  for (let index = 0; index < values.length; index += 1) {
    if (values[index] != null && values[index - 1] == null && values[index + 1] == null)
      return true;
  }
  return false;
}
