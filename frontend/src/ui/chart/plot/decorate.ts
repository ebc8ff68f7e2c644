/** Decorations of a plot: event marks, and the current values at the right edge. */
import uPlot from 'uplot';
import { formatWithoutUnit } from '@/lib/format';
import { resolveColor } from '../palette';
import type { ChartMark, ChartSpec } from '../types';

/** Space for the values, in pixels. */
export const EDGE_WIDTH = 70;
const LABEL_HEIGHT = 13;
/** Maximum number of values. More would overlap, and the legend shows them. */
const LABELS_MAX = 4;

/** Opacity of a band. Lines stay readable, and the most severe of overlapping bands is the most visible. */
const FILL: Record<ChartMark['tone'], number> = {
  error: 0.13,
  progress: 0.1,
  warning: 0.05,
  info: 0.04,
};

/** Return the start and end of a band in pixels from the left edge of the plot; null if it is not visible. */
export function bandOf(plot: uPlot, mark: ChartMark, onCanvas: boolean): [number, number] | null {
  if (mark.until === undefined) return null;
  const { min, max } = plot.scales.x ?? {};
  if (min == null || max == null) return null;
  const from = Math.max(mark.at / 1000, min);
  const to = Math.min(mark.until === null ? max : mark.until / 1000, max);
  if (from > to) return null;
  return [plot.valToPos(from, 'x', onCanvas), plot.valToPos(to, 'x', onCanvas)];
}

/** Draw spans below the lines. */
export function drawBands(plot: uPlot, marks: readonly ChartMark[]): void {
  const { ctx, bbox } = plot;
  for (const mark of marks) {
    const band = bandOf(plot, mark, true);
    if (!band) continue;
    const [left, right] = band;
    ctx.fillStyle = resolveColor(`var(--mark-${mark.tone})`);
    ctx.globalAlpha = FILL[mark.tone];
    ctx.fillRect(left, bbox.top, Math.max(uPlot.pxRatio, right - left), bbox.height);
    // A cap separates adjacent bands and makes very narrow ones visible.
    ctx.globalAlpha = 0.9;
    ctx.fillRect(left, bbox.top, Math.max(2 * uPlot.pxRatio, right - left), 2 * uPlot.pxRatio);
    ctx.globalAlpha = 1;
  }
}

export function drawMarks(
  plot: uPlot,
  marks: readonly ChartMark[],
  { from, to }: { from: number; to: number },
): void {
  const { ctx, bbox } = plot;
  ctx.lineWidth = uPlot.pxRatio;
  ctx.setLineDash([3 * uPlot.pxRatio, 3 * uPlot.pxRatio]);
  for (const mark of marks) {
    const second = mark.at / 1000;
    if (mark.until !== undefined || second < from || second > to) continue;
    const x = Math.round(plot.valToPos(second, 'x', true)) + 0.5;
    ctx.strokeStyle = resolveColor(`var(--mark-${mark.tone})`);
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
  }
  ctx.setLineDash([]);
}

interface Label {
  y: number;
  text: string;
  color: string;
}

/** Draw the current value of each line, or the sum of a stack, next to its end without overlaps. */
export function drawEdgeValues(plot: uPlot, spec: ChartSpec, late: number): void {
  const labels = edgeLabels(plot, spec, late).sort((a, b) => a.y - b.y);
  if (labels.length > LABELS_MAX) return;
  const { ctx, bbox } = plot;
  const step = LABEL_HEIGHT * uPlot.pxRatio;
  const left = bbox.left + bbox.width + 5 * uPlot.pxRatio;
  ctx.font = `600 ${11 * uPlot.pxRatio}px system-ui, sans-serif`;
  ctx.textAlign = 'left';
  ctx.textBaseline = 'middle';
  // Limit from below: the remaining labels need space. Limit from above: labels must not overlap.
  let lowest = bbox.top + bbox.height - step * (labels.length - 0.5);
  let previous = Number.NEGATIVE_INFINITY;
  for (const { y, text, color } of labels) {
    const labelY = Math.max(Math.min(y, lowest), previous + step, bbox.top + step / 2);
    ctx.fillStyle = resolveColor(color);
    ctx.fillText(text, left, labelY);
    previous = labelY;
    lowest += step;
  }
}

function edgeLabels(plot: uPlot, spec: ChartSpec, late: number): Label[] {
  const stacked = spec.kind === 'stacked';
  const drawn = plot.data.slice(1) as (number | null)[][];
  return (stacked ? drawn.slice(-1) : drawn).flatMap((row, index) => {
    const value = row.slice(-late).findLast((v) => v !== null);
    const series = spec.series[stacked ? spec.series.length - 1 : index];
    if (value === null || value === undefined || !series || series.limit) return [];
    return [
      {
        y: plot.valToPos(value, 'y', true),
        // The axis shows the unit.
        text: formatWithoutUnit(spec.unit, value),
        color: stacked ? 'var(--text)' : series.color,
      },
    ];
  });
}
