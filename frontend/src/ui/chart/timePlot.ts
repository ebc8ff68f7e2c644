/** What every plot over time has in common: the time axis, the synced crosshair, zoom by dragging, marks under the pointer. */
import uPlot from 'uplot';
import type { Zone } from '@/lib/time';
import { bandOf } from './decorate';
import { resolveColor } from './palette';
import { TIME_STEPS, timeLabel } from './timeTicks';
import type { ChartMark, TimeAxis } from './types';

const SYNC_KEY = 'page';
const FONT = '11px system-ui, sans-serif';

/** Of both axes. */
export const axisStyle = () => ({
  stroke: resolveColor('var(--text-dim)'),
  grid: { stroke: resolveColor('var(--grid)'), width: 1 },
  ticks: { show: false },
  font: FONT,
});

export const yAxisSize = { size: 58, gap: 4 };

export const timeZone = (zone: Zone): Pick<uPlot.Options, 'tzDate'> =>
  zone === 'utc' ? { tzDate: (ts: number) => uPlot.tzDate(new Date(ts * 1e3), 'Etc/UTC') } : {};

export const timeAxis = (zone: Zone): uPlot.Axis => ({
  ...axisStyle(),
  size: 24,
  gap: 2,
  space: 70,
  incrs: TIME_STEPS,
  values: (plot, splits) =>
    splits.map((second) => {
      // At the left end it would run into the zero of the other axis.
      if (plot.valToPos(second, 'x') < 16) return '';
      return timeLabel(second, (splits[1] ?? 60) - (splits[0] ?? 0), zone);
    }),
});

export const timeScale = (axis: TimeAxis): uPlot.Scale => ({
  time: true,
  range: () => {
    const { from, to } = axis.window();
    return [from, to];
  },
});

/** A crosshair that all plots of the page share; a drag zooms, a double click undoes it. */
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

/** The closest instant, else the shortest span. */
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
