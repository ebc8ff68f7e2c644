/** Plot of a heat map, with cells instead of lines. */
import uPlot from 'uplot';
import { format } from '@/lib/format';
import { resolveColor } from '../palette';
import { drawBands, drawMarks } from '../plot/decorate';
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
} from '../plot/timePlot';
import { type ColorScale, colorScale, STOPS, shades } from './colors';
import {
  axisPositionOf,
  columnAt,
  type Extent,
  extentOf,
  roundBounds,
  rowOf,
  rowStart,
  ticks,
  toCsv,
} from './grid';
import { paintCells, paintGaps } from './paint';
import type { Heat, HeatColumn, HeatSource } from './types';

const SHADES = 32;
/** Minimum distance between two labels of the latency axis in pixels. */
const LABEL_SPACING = 26;
const EMPTY_HEAT: Heat = { from: 0, step: 1, perDecade: 20, columns: [] };

export interface PointedCell {
  /** Epoch second at which the column starts. */
  from: number;
  column: HeatColumn | undefined;
  /** Null if the pointer is on another chart. */
  row: number | null;
  /** Position of the pointer in pixels. */
  left: number;
}

export interface HeatPlotOptions extends PlotShell {
  source: HeatSource;
  onData: (heat: Heat, extent: Extent | null, scale: ColorScale) => void;
  onCursor: (at: PointedCell | null) => void;
}

export class HeatPlot extends TimePlot<HeatPlotOptions> {
  heat: Heat = EMPTY_HEAT;
  private readonly cell = document.createElement('div');
  private readonly colors = shades(STOPS.map(resolveColor), SHADES);
  private y: [number, number] = [100, 1_000];
  private scale: ColorScale = { low: 1, high: 1_000 };
  private isEmpty = true;

  constructor(options: HeatPlotOptions) {
    super(options);
    this.cell.dataset.cell = '';
    this.cell.hidden = true;
    this.plot.over.append(this.cell);
  }

  update(): void {
    const { source, axis, onData } = this.options;
    const { from, to } = axis.window();
    this.heat = source.read(from, to);
    const { step, columns, perDecade } = this.heat;
    const extent = extentOf(columns);
    this.isEmpty = !extent;
    if (extent) {
      const [lowest, highest] = extent.rows;
      this.y = roundBounds(rowStart(lowest, perDecade), rowStart(highest + 1, perDecade));
      this.scale = colorScale(extent.rates);
    }
    const middles = columns.map((_, index) =>
      axisPositionOf(this.heat.from + (index + 0.5) * step),
    );
    this.plot.setData([middles, middles.map(() => null)], true);
    onData(this.heat, extent, this.scale);
    this.point();
  }

  csv(): string {
    return toCsv(this.heat);
  }

  step(): number {
    return this.heat.step;
  }

  protected settings(width: number, height: number): uPlot.Options {
    const { axis, zone, marks } = this.options;
    return {
      width,
      height,
      // The last label of the time axis extends beyond its end.
      padding: [8, 28, 0, 0],
      legend: { show: false },
      ...timeZone(zone),
      cursor: { ...crosshair(axis), points: { show: false } },
      scales: { x: timeScale(axis), y: { range: () => this.y, distr: 3 } },
      axes: [
        timeAxis(zone),
        {
          ...axisStyle(),
          ...yAxisSize,
          splits: (plot) => {
            const maxLabels = Math.floor(plot.bbox.height / uPlot.pxRatio / LABEL_SPACING);
            return ticks(...this.y, maxLabels);
          },
          filter: (_, splits) => splits,
          values: (_, splits) => splits.map((split) => format('microseconds', split)),
        },
      ],
      series: [{}, { points: { show: false }, paths: () => null }],
      hooks: {
        setSelect: [(plot) => zoomTo(plot, axis)],
        setCursor: [() => this.moved()],
        drawClear: [(plot) => drawBands(plot, marks())],
        draw: [(plot) => this.paint(plot)],
      },
    };
  }

  private paint(plot: uPlot): void {
    const { axis, marks } = this.options;
    paintGaps(plot, this.heat, {
      line: resolveColor('var(--border)'),
      surface: resolveColor('var(--surface)'),
      text: this.isEmpty ? null : resolveColor('var(--text-dim)'),
    });
    paintCells(plot, this.heat, { scale: this.scale, shades: this.colors });
    plot.ctx.save();
    drawMarks(plot, marks(), axis.window());
    plot.ctx.restore();
  }

  private moved(): void {
    this.point();
    this.showMark();
  }

  /** Report the cell under the crosshair. */
  private point(): void {
    const { left = -1, top = -1 } = this.plot.cursor;
    const { from, step, columns, perDecade } = this.heat;
    const index = left < 0 ? -1 : columnAt(this.heat, this.plot.posToVal(left, 'x'));
    if (index < 0 || index >= columns.length) {
      this.cell.hidden = true;
      this.options.onCursor(null);
      return;
    }
    const row = this.isHovered ? rowOf(this.plot.posToVal(top, 'y'), perDecade) : null;
    const at = from + index * step;
    this.outline(at, columns[index]?.seconds ? row : null);
    this.options.onCursor({ from: at, column: columns[index], row, left: this.left });
  }

  private outline(at: number, row: number | null): void {
    this.cell.hidden = row === null;
    if (row === null) return;
    const { step, perDecade } = this.heat;
    const x = [at, at + step].map((second) => this.plot.valToPos(axisPositionOf(second), 'x'));
    const y = [row + 1, row].map((each) => this.plot.valToPos(rowStart(each, perDecade), 'y'));
    const [left = 0, right = 0] = x;
    const [top = 0, bottom = 0] = y;
    Object.assign(this.cell.style, {
      left: `${left - 1}px`,
      width: `${right - left + 2}px`,
      top: `${top - 1}px`,
      height: `${bottom - top + 2}px`,
    });
  }
}
