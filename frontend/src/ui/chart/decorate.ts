/** What is painted over a plot: event marks, and the current values at the right edge. */
import uPlot from 'uplot';
import { format, type Unit } from '@/lib/format';
import { resolveColor } from './palette';
import type { ChartMark, ChartSpec } from './types';

/** Room kept free for the values. */
export const EDGE_WIDTH = 70;
const LABEL_HEIGHT = 13;
/** With more lines than this the values would hide one another; the legend has them. */
const LABELS_MAX = 4;

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
    if (second < from || second > to) continue;
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

/** The current value of each line, or the sum of a stack, beside its end, never overlapping. */
export function drawEdgeValues(plot: uPlot, spec: ChartSpec): void {
  const labels = edgeLabels(plot, spec).sort((a, b) => a.y - b.y);
  if (labels.length > LABELS_MAX) return;
  const { ctx, bbox } = plot;
  const step = LABEL_HEIGHT * uPlot.pxRatio;
  const left = bbox.left + bbox.width + 5 * uPlot.pxRatio;
  ctx.font = `600 ${11 * uPlot.pxRatio}px system-ui, sans-serif`;
  ctx.textAlign = 'left';
  ctx.textBaseline = 'middle';
  // From the bottom up there must be room for the rest; from the top down no overlap.
  let lowest = bbox.top + bbox.height - step * (labels.length - 0.5);
  let previous = Number.NEGATIVE_INFINITY;
  for (const { y, text, color } of labels) {
    const place = Math.max(Math.min(y, lowest), previous + step, bbox.top + step / 2);
    ctx.fillStyle = resolveColor(color);
    ctx.fillText(text, left, place);
    previous = place;
    lowest += step;
  }
}

function edgeLabels(plot: uPlot, spec: ChartSpec): Label[] {
  const stacked = spec.kind === 'stacked';
  const drawn = plot.data.slice(1) as (number | null)[][];
  return (stacked ? drawn.slice(-1) : drawn).flatMap((row, index) => {
    const value = row.slice(-4).findLast((v) => v !== null);
    const series = spec.series[stacked ? spec.series.length - 1 : index];
    if (value === null || value === undefined || !series || series.limit) return [];
    return [
      {
        y: plot.valToPos(value, 'y', true),
        text: edgeText(spec.unit, value),
        color: stacked ? 'var(--text)' : series.color,
      },
    ];
  });
}

/** The axis has said what is counted; only the number is needed at the edge. */
function edgeText(unit: Unit, value: number): string {
  return format(unit === 'ops' || unit === 'perSecond' ? 'count' : unit, value);
}
