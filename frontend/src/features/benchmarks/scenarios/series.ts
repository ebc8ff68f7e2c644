/** Axes, titles and points of the charts of a scenario result. Pure. */
import type { ScenarioSeries } from '@/api/types';
import { axisLevels } from '../percentiles';

export interface SeriesAxes {
  /** Labeled values of the horizontal axis, from 0. */
  ticks: number[];
  /** Labeled values of the vertical axis, from 0. */
  levels: number[];
}

/**
 * Group series by the units of both axes, because a chart has one of each. Groups with points at only one position are omitted:
 * tables show their values.
 */
export function chartsOf(series: readonly ScenarioSeries[]): ScenarioSeries[][] {
  const groups = new Map<string, ScenarioSeries[]>();
  for (const entry of series) {
    const units = JSON.stringify([entry.unit, entry.x_unit]);
    groups.set(units, [...(groups.get(units) ?? []), entry]);
  }
  return [...groups.values()].filter(
    (group) => new Set(group.flatMap(({ points }) => points.map(([x]) => x))).size > 1,
  );
}

/** Quantities of units that have several series per chart, or that are units of horizontal axes. */
const QUANTITIES: Record<string, string> = { ms: 'Latency', 'ops/s': 'Throughput' };

/** Name the measurements of a chart and its horizontal axis: "Throughput by nodes", "Latency by throughput". */
export function chartTitle(series: readonly ScenarioSeries[]): string {
  const { unit = '', x_unit = '' } = series[0] ?? {};
  const measured = series.filter(({ ideal }) => !ideal).map(({ name }) => name);
  const quantity = QUANTITIES[unit] ?? measured.join(', ');
  return `${quantity} by ${(QUANTITIES[x_unit] ?? x_unit).toLowerCase()}`;
}

export function axesOf(series: readonly ScenarioSeries[]): SeriesAxes {
  const points = series.flatMap((entry) => entry.points);
  return {
    ticks: axisLevels(Math.max(...points.map(([x]) => x)) || 1),
    levels: axisLevels(Math.max(...points.map(([, y]) => y)) || 1),
  };
}

/** Return the points in the order of the horizontal axis. A search measures them in another order. */
export const sortedPoints = ({ points }: ScenarioSeries) => [...points].sort(([a], [b]) => a - b);

/** Return the position of the point that is nearest to `position` on the horizontal axis. */
export function nearestX(series: readonly ScenarioSeries[], position: number): number | undefined {
  let best: number | undefined;
  for (const [x] of series.flatMap((entry) => entry.points)) {
    if (best === undefined || Math.abs(x - position) < Math.abs(best - position)) best = x;
  }
  return best;
}

export const valueAtX = ({ points }: ScenarioSeries, x: number): number | undefined =>
  points.find(([other]) => other === x)?.[1];
