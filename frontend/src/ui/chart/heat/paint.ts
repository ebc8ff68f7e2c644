/** Painting of a heat map: cells, and hatching for gaps. */
import uPlot from 'uplot';
import { type ColorScale, shareOf } from './colors';
import { axisPositionOf, gapsOf, ratesOf, rowStart } from './grid';
import type { Heat } from './types';

/** Minimum width in pixels of a gap with a label. */
const LABEL_WIDTH = 64;

interface CellStyle {
  scale: ColorScale;
  /** Colors from few to many requests. */
  shades: readonly string[];
}

export function paintCells(plot: uPlot, heat: Heat, { scale, shades }: CellStyle): void {
  const { ctx } = plot;
  const x = (second: number) => Math.round(plot.valToPos(axisPositionOf(second), 'x', true));
  const y = memoized((row: number) =>
    Math.round(plot.valToPos(rowStart(row, heat.perDecade), 'y', true)),
  );
  const last = shades.length - 1;
  inside(plot, () => {
    for (const [index, column] of heat.columns.entries()) {
      if (!column) continue;
      const left = x(heat.from + index * heat.step);
      const width = Math.max(1, x(heat.from + (index + 1) * heat.step) - left);
      for (const [row, rate] of ratesOf(column)) {
        const top = y(row + 1);
        ctx.fillStyle = shades[Math.round(shareOf(rate, scale) * last)] ?? '';
        ctx.fillRect(left, top, width, Math.max(1, y(row) - top));
      }
    }
  });
}

interface GapColors {
  line: string;
  surface: string;
  /** Null if no label is needed. */
  text: string | null;
}

export function paintGaps(plot: uPlot, heat: Heat, { line, surface, text }: GapColors): void {
  const { ctx, bbox } = plot;
  const ratio = uPlot.pxRatio;
  for (const [from, to] of gapsOf(heat)) {
    const left = Math.max(bbox.left, Math.round(plot.valToPos(axisPositionOf(from), 'x', true)));
    const right = Math.min(
      bbox.left + bbox.width,
      Math.round(plot.valToPos(axisPositionOf(to), 'x', true)),
    );
    if (right <= left) continue;
    ctx.save();
    ctx.beginPath();
    ctx.rect(left, bbox.top, right - left, bbox.height);
    ctx.clip();
    ctx.strokeStyle = line;
    ctx.lineWidth = ratio;
    ctx.beginPath();
    // The hatching of all gaps is aligned, independent of their start.
    const step = 7 * ratio;
    const first = Math.floor((left - bbox.height) / step) * step;
    for (let at = first; at < right; at += step) {
      ctx.moveTo(at, bbox.top + bbox.height);
      ctx.lineTo(at + bbox.height, bbox.top);
    }
    ctx.stroke();
    ctx.restore();
    if (text && (right - left) / ratio >= LABEL_WIDTH) {
      drawLabel(plot, (left + right) / 2, text, surface);
    }
  }
}

function drawLabel(plot: uPlot, middle: number, text: string, surface: string): void {
  const { ctx, bbox } = plot;
  const ratio = uPlot.pxRatio;
  const label = 'No data';
  ctx.save();
  ctx.font = `${11 * ratio}px system-ui, sans-serif`;
  ctx.textAlign = 'center';
  ctx.textBaseline = 'middle';
  const [width, height] = [ctx.measureText(label).width + 10 * ratio, 18 * ratio];
  const y = bbox.top + bbox.height / 2;
  ctx.fillStyle = surface;
  ctx.fillRect(middle - width / 2, y - height / 2, width, height);
  ctx.fillStyle = text;
  ctx.fillText(label, middle, y);
  ctx.restore();
}

function inside(plot: uPlot, draw: () => void): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  draw();
  ctx.restore();
}

function memoized(of: (row: number) => number): (row: number) => number {
  const known = new Map<number, number>();
  return (row) => {
    const found = known.get(row) ?? of(row);
    known.set(row, found);
    return found;
  };
}
