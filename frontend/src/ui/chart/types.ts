/** What a chart needs to know; where the numbers come from is not its business. */
import type { Unit } from '@/lib/format';

/** Of single seconds; NaN where nobody kept it. */
export interface Extremes {
  low: Float64Array;
  high: Float64Array;
}

/** One row per series, one value per interval, NaN for a gap. */
export interface Columns {
  /** Epoch second at which the first interval begins. */
  from: number;
  /** Seconds of one interval. */
  step: number;
  rows: Float64Array[];
  /** Per series the lowest and the highest second within each interval, where that is known. */
  extremes?: readonly (Extremes | undefined)[] | undefined;
  /** The same of the sum of a stack. */
  whole?: Extremes | undefined;
  /** Per series how much each interval counts in an average; all alike when left out. */
  weights?: readonly (Float64Array | undefined)[] | undefined;
}

export interface ChartSource {
  /** What is known of [from, to]; at least these seconds, intervals may reach beyond. */
  read: (from: number, to: number) => Columns;
  subscribe: (listener: () => void) => () => void;
  /** Why there is nothing at the moment, if the source knows. */
  reason?: () => string | undefined;
  /** Nothing is there yet, and is on its way. */
  pending?: () => boolean;
}

export interface ChartSeries {
  label: string;
  color: string;
  /** Drawn as a thin dashed line: a limit, not a measurement. */
  limit?: boolean;
  /** Why the legend has no average of it. */
  noAverage?: string;
  /** Shades the area between this series and the one with that index. */
  shadeTo?: number;
}

export interface ChartMark {
  /** Epoch milliseconds. */
  at: number;
  label: string;
  tone: 'info' | 'warning' | 'error' | 'progress';
  /** Makes it a band: epoch milliseconds, null while it goes on. */
  until?: number | null;
  /** What a click on it does. */
  open?: () => void;
}

export interface ChartSpec {
  title: string;
  /** Of what: "demo", "node 2"; left out where it is the whole cluster. */
  subject?: string;
  /** Names the chart in links. */
  id?: string;
  unit: Unit;
  kind: 'lines' | 'stacked';
  series: ChartSeries[];
  source: ChartSource;
  /** Fixed top of the y axis, e.g. 1 for ratios. */
  max?: number;
  /** Why there may be nothing to see. */
  emptyReason?: string;
  /** What an interval longer than a second shows; averages when left out. */
  rollup?: 'average' | 'last';
  /** The REST call that returns the same numbers of [from, to]. */
  apiCall?: (from: number, to: number) => string;
  promql?: string;
}

/** The time axis all charts of a page share. */
export interface TimeAxis {
  window: () => { from: number; to: number };
  subscribe: (listener: () => void) => () => void;
  zoom: (from: number, to: number) => void;
  /** Undoes the latest zoom. */
  reset: () => void;
  /** Seconds of one interval, when the axis decides about it. */
  step?: () => number;
  /** Address of this page that shows the same window in the same resolution. */
  link?: (step: number) => string;
}
