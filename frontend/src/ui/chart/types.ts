/** Types of charts. Charts do not depend on the origin of the data. */
import type { Unit } from '@/lib/format';

/** Lowest and highest second of each interval; NaN if unknown. */
export interface Extremes {
  low: Float64Array;
  high: Float64Array;
}

/** One row per series, one value per interval, NaN for a gap. */
export interface Columns {
  /** Epoch second at which the first interval starts. */
  from: number;
  /** Seconds of one interval. */
  step: number;
  rows: Float64Array[];
  /** Lowest and highest second of each interval per series, if known. */
  extremes?: readonly (Extremes | undefined)[] | undefined;
  /** The same for the sum of a stack. */
  total?: Extremes | undefined;
  /** Weight of each interval in an average, per series; undefined for equal weights. */
  weights?: readonly (Float64Array | undefined)[] | undefined;
}

export interface ChartSource {
  /** Returns the known data of [from, to]. Intervals can extend beyond this range. */
  read: (from: number, to: number) => Columns;
  subscribe: (listener: () => void) => () => void;
  /** Reason why there is currently no data, if known. */
  reason?: () => string | undefined;
  /** Whether data is loading. */
  pending?: () => boolean;
}

export interface ChartSeries {
  label: string;
  color: string;
  /** Whether the series is a limit instead of a measurement. Drawn as a thin dashed line. */
  limit?: boolean;
  /** Reason why the legend shows no average. */
  noAverage?: string;
  /** Index of another series; the area between the two is shaded. */
  shadeTo?: number;
}

export interface ChartMark {
  /** Epoch milliseconds. */
  at: number;
  label: string;
  tone: 'info' | 'warning' | 'error' | 'progress';
  /** End of a band in epoch milliseconds, null for an open band; undefined for an instant. */
  until?: number | null;
  /** Called when the mark is clicked. */
  open?: () => void;
}

export interface ChartSpec {
  title: string;
  /** Object of the chart, such as "demo" or "node 2"; undefined for the cluster. */
  subject?: string;
  /** Id of the chart in links. */
  id?: string;
  unit: Unit;
  kind: 'lines' | 'stacked';
  series: ChartSeries[];
  source: ChartSource;
  /** Fixed top of the y axis, e.g. 1 for ratios. */
  max?: number;
  /** Text if there is no data. */
  emptyReason?: string;
  /** Value of an interval longer than a second; average by default. */
  rollup?: 'average' | 'last';
  /** Returns the REST call for the data of [from, to]. */
  apiCall?: (from: number, to: number) => string;
  promql?: string;
}

/** Time axis that all charts of a page share. */
export interface TimeAxis {
  window: () => { from: number; to: number };
  subscribe: (listener: () => void) => () => void;
  zoom: (from: number, to: number) => void;
  /** Resets the latest zoom. */
  reset: () => void;
  /** Seconds of one interval, if the axis determines it. */
  step?: () => number;
  /** Returns the address of this page with the same window and resolution. */
  link?: (step: number) => string;
}
