/** Data per second of a run as a source for charts. It grows while the run is in progress. */
import type { BenchmarkPart } from '@/api/types';
import type { Heat, HeatColumn, HeatSource } from '@/ui/chart/heat/types';
import type { ChartSource, Columns } from '@/ui/chart/types';
import { columnOfSecond, mergeHeatColumns, PER_DECADE } from './runHeatColumns';

type Row = Readonly<Record<string, number | null>>;

/** Maximum points of a line chart and columns of a heat map: at most one per pixel. */
const MAX_POINTS = 1_000;
const MAX_COLUMNS = 300;

/** Metrics combined by their worst second. All others are averaged. */
const COMBINED_BY_MAX = new Set(['p50_ms', 'p99_ms', 'p999_ms', 'max_ms']);

/** Return the metric name of an error type. */
export const errorMetric = (kind: string) => `errors.${kind}`;

export class RunSeries {
  /** Rows by the epoch second at which they start. */
  private readonly rows = new Map<number, Row>();
  private readonly heat = new Map<number, HeatColumn>();
  private readonly listeners = new Set<() => void>();
  private first = Number.POSITIVE_INFINITY;
  private last = Number.NEGATIVE_INFINITY;
  private readonly startTimes = new Map<string, number>();
  private readonly kinds = new Set<string>();

  add(parts: readonly BenchmarkPart[]): void {
    for (const part of parts) {
      if (part.began_at !== null)
        this.startTimes.set(`${part.phase}.${part.repetition}`, part.began_at);
      part.at.forEach((end, index) => {
        const row: Record<string, number | null> = {};
        for (const [name, column] of Object.entries(part.columns))
          row[name] = column[index] ?? null;
        for (const [kind, counts] of Object.entries(part.errors)) {
          row[errorMetric(kind)] = counts[index] ?? null;
          if (counts[index]) this.kinds.add(kind);
        }
        const second = Math.round(end) - 1;
        this.rows.set(second, row);
        const histogram = part.histograms?.[index];
        if (histogram) this.heat.set(second, columnOfSecond(histogram));
        this.first = Math.min(this.first, second);
        this.last = Math.max(this.last, second);
      });
    }
    if (parts.length) for (const listener of this.listeners) listener();
  }

  /** Return the range of the data in epoch seconds; undefined without data. */
  span(): { from: number; to: number } | undefined {
    return this.rows.size ? { from: this.first, to: this.last + 1 } : undefined;
  }

  /**
   * Return the epoch second at which a repetition of a phase started; undefined until its first
   * data arrives.
   */
  phaseStart(phase: number, repetition: number): number | undefined {
    return this.startTimes.get(`${phase}.${repetition}`);
  }

  /** Return the types of errors that have occurred. */
  errorKinds(): string[] {
    return [...this.kinds].sort();
  }

  source(metrics: readonly string[], reason?: string): ChartSource {
    return {
      read: (from, to) => this.read(metrics, from, to),
      subscribe: (listener) => this.subscribe(listener),
      ...(reason !== undefined && { reason: () => reason }),
    };
  }

  heatSource(reason: string, apiCall: () => string): HeatSource {
    return {
      read: (from, to) => this.readHeat(from, to),
      subscribe: (listener) => this.subscribe(listener),
      reason: () => (this.heat.size ? undefined : reason),
      apiCall,
    };
  }

  private subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  private readHeat(from: number, to: number): Heat {
    // Charts also draw the second at their right edge.
    const grid = gridOf(from, to + 1, MAX_COLUMNS);
    const columns = Array.from({ length: grid.length }, (_, index) => {
      const start = grid.from + index * grid.step;
      const seconds = Array.from({ length: grid.step }, (_, index) => this.heat.get(start + index));
      return mergeHeatColumns(seconds.filter((each) => each !== undefined));
    });
    return { from: grid.from, step: grid.step, perDecade: PER_DECADE, columns };
  }

  private read(metrics: readonly string[], from: number, to: number): Columns {
    const { from: start, step, length } = gridOf(from, to, MAX_POINTS);
    const rows = metrics.map((metric) => {
      const values = new Float64Array(length);
      for (let index = 0; index < length; index += 1) {
        values[index] = this.value(metric, start + index * step, step);
      }
      return values;
    });
    return { from: start, step, rows };
  }

  private value(metric: string, from: number, step: number): number {
    let sum = 0;
    let highest = Number.NEGATIVE_INFINITY;
    let count = 0;
    for (let second = from; second < from + step; second += 1) {
      const value = this.rows.get(second)?.[metric];
      if (value === null || value === undefined) continue;
      sum += value;
      highest = Math.max(highest, value);
      count += 1;
    }
    if (!count) return Number.NaN;
    return COMBINED_BY_MAX.has(metric) ? highest : sum / count;
  }
}

/**
 * Return a grid of whole-second steps that covers [from, to). Multiples of the step keep it stable
 * when the window moves.
 */
function gridOf(from: number, to: number, maxSteps: number) {
  const step = Math.max(1, Math.ceil((to - from) / maxSteps));
  const start = Math.floor(from / step) * step;
  return { from: start, step, length: Math.max(0, Math.ceil((to - start) / step)) };
}
