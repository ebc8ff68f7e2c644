/** Shade behind a line of averages, from the lowest to the highest second of each interval. In a stack, a dotted line shows the
 * lowest second instead, because a shade would dim the layers. */
import type uPlot from 'uplot';
import type { Prepared } from '../data/prepare';
import { resolveColor } from '../palette';
import type { ChartSpec, Extremes } from '../types';

const SHADE = 0.18;
const LINE = 0.8;

export interface Shade extends Extremes {
  color: string;
  /** Used if the extreme is unknown. */
  middle: readonly (number | null)[];
}

/** Return the shades of all visible lines, or one of a stack if none of its layers is hidden. */
export function extremesOf(
  { kind, series }: Pick<ChartSpec, 'kind' | 'series'>,
  { step, drawn, extremes, total }: Prepared,
  visible: readonly boolean[],
): Shade[] {
  if (step === 1) return [];
  if (kind === 'stacked') {
    const middle = drawn.at(-1);
    const isComplete = series.every((_, index) => visible[index] !== false);
    return total && middle && isComplete ? [{ ...total, middle, color: 'var(--text-dim)' }] : [];
  }
  return series.flatMap(({ color }, index) => {
    const found = extremes?.[index];
    const middle = drawn[index];
    return found && middle && visible[index] !== false ? [{ ...found, middle, color }] : [];
  });
}

/** Return a description of the shade; empty if there is none. */
export function describeShades(kind: ChartSpec['kind'], shades: readonly Shade[]): string {
  if (!shades.length) return '';
  const isKnown = (value: number) => !Number.isNaN(value);
  if (!shades.some(({ low }) => low.some(isKnown)))
    return 'The shaded area extends to the highest second of each interval';
  return kind === 'stacked'
    ? 'The shaded area extends to the highest second of each interval; the dotted line is the lowest second'
    : 'The shaded area extends from the lowest to the highest second of each interval';
}

/** Draw shades below the lines. */
export function drawExtremes(
  plot: uPlot,
  spec: ChartSpec,
  data: Prepared,
  visible: readonly boolean[],
): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  ctx.globalAlpha = SHADE;
  for (const shade of extremesOf(spec, data, visible)) {
    ctx.fillStyle = resolveColor(shade.color);
    ctx.strokeStyle = ctx.fillStyle;
    for (const run of knownRanges(shade.middle))
      fill(plot, shade, data.x, run, spec.kind === 'stacked');
  }
  ctx.restore();
}

/** Return ranges of consecutive known values as [first, end) indices. Pure. */
export function knownRanges(middle: readonly (number | null)[]): [number, number][] {
  const found: [number, number][] = [];
  middle.forEach((value, index) => {
    if (value === null) return;
    const last = found.at(-1);
    if (last?.[1] === index) last[1] += 1;
    else found.push([index, index + 1]);
  });
  return found;
}

function fill(
  plot: uPlot,
  shade: Shade,
  x: readonly number[],
  [first, end]: [number, number],
  isStack: boolean,
) {
  const { ctx } = plot;
  const { min = 0, max = 0 } = plot.scales.y ?? {};
  const point = (row: Float64Array | undefined, index: number): [number, number] => {
    const known = row?.[index] ?? Number.NaN;
    const value = Number.isNaN(known) ? (shade.middle[index] ?? 0) : known;
    // Zero has no position on a logarithmic axis.
    const clamped = Math.min(Math.max(value, min ?? 0), max ?? value);
    return [plot.valToPos(x[index] ?? 0, 'x', true), plot.valToPos(clamped, 'y', true)];
  };
  ctx.beginPath();
  for (let index = first; index < end; index += 1) ctx.lineTo(...point(shade.high, index));
  for (let index = end - 1; index >= first; index -= 1)
    ctx.lineTo(...point(isStack ? undefined : shade.low, index));
  ctx.closePath();
  ctx.fill();
  if (!isStack || shade.low.every(Number.isNaN)) return;
  ctx.save();
  ctx.globalAlpha = LINE;
  ctx.setLineDash([1, 2]);
  ctx.beginPath();
  for (let index = first; index < end; index += 1) ctx.lineTo(...point(shade.low, index));
  ctx.stroke();
  ctx.restore();
}
