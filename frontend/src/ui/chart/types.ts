/** What a chart needs to know; where the numbers come from is not its business. */
import type { Unit } from '@/lib/format';

export interface ChartSource {
  /** One array per series, one value per second of [from, to], NaN for a gap. */
  read: (from: number, to: number) => Float64Array[];
  subscribe: (listener: () => void) => () => void;
}

export interface ChartSeries {
  label: string;
  color: string;
  /** Drawn as a thin dashed line: a limit, not a measurement. */
  limit?: boolean;
}

export interface ChartMark {
  /** Epoch milliseconds. */
  at: number;
  label: string;
  tone: 'info' | 'warning' | 'error';
}

export interface ChartSpec {
  title: string;
  unit: Unit;
  kind: 'lines' | 'stacked';
  series: ChartSeries[];
  source: ChartSource;
  /** Fixed top of the y axis, e.g. 1 for ratios. */
  max?: number;
  /** Why there may be nothing to see. */
  emptyReason?: string;
  /** The REST call that returns the same numbers. */
  apiCall?: string;
}

/** The time axis all charts of a page share. */
export interface TimeAxis {
  window: () => { from: number; to: number };
  subscribe: (listener: () => void) => () => void;
  zoom: (from: number, to: number) => void;
  reset: () => void;
}
