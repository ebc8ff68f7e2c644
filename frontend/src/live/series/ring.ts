/**
 * Ring buffer with the last 900 seconds of one topic: a `Float64Array` per series and metric, indexed
 * by epoch second modulo capacity. NaN is a second without a sample and appears as a gap in charts.
 */

import { MAX_FRESH_AGE } from '@/ui/figure/figureState';

export const RETENTION = 900;
/** Seconds by which samples may arrive late. The samples of one second arrive separately. */
export const MAX_LATE_SECONDS = 5;
const REQUESTS = 'total_req';
/** Interval in seconds between two searches for ended series. */
const SWEEP_INTERVAL = 60;

export type SampleValues = readonly (number | null)[];

export class TopicRing {
  metrics: readonly string[] = [];
  /** Newest second written; 0 before the first sample. */
  newest = 0;
  /** Oldest second that was ever written; 0 before the first sample. Older seconds were never requested. */
  oldest = 0;
  /** Incremented when older seconds are written, because values derived from them are outdated. */
  revision = 0;
  private readonly series = new Map<string, Float64Array[]>();
  /** Newest second of each series. */
  private readonly newestBySeries = new Map<string, number>();
  private sweepAt = 0;
  private columnIndex = new Map<string, number>();

  constructor(readonly capacity = RETENTION) {}

  /** Number of series. */
  get size(): number {
    return this.series.size;
  }

  /** Return whether a series has samples. */
  has(uid: string): boolean {
    return this.series.has(uid);
  }

  /** Set the list of metrics. A different list means another console version, so all values are cleared. */
  setMetrics(metrics: readonly string[]): void {
    if (metrics.join() === this.metrics.join()) return;
    this.metrics = [...metrics];
    this.columnIndex = new Map(metrics.map((name, index) => [name, index]));
    this.series.clear();
    this.newestBySeries.clear();
    this.newest = 0;
    this.oldest = 0;
  }

  write(second: number, uid: string, values: SampleValues): void {
    if (second <= this.newest - this.capacity) return;
    this.advance(second);
    this.recordOldest(second);
    if (second < this.newest - MAX_LATE_SECONDS) this.revision += 1;
    const columns = this.columnsOf(uid, second);
    const slot = second % this.capacity;
    for (let index = 0; index < columns.length; index += 1) {
      const value = values[index];
      const column = columns[index];
      // Null does not overwrite values, because a second can arrive in parts.
      if (column && value !== null && value !== undefined) column[slot] = value;
    }
  }

  /** Write consecutive seconds from `from`, one array per metric. */
  fill(from: number, uid: string, history: readonly SampleValues[]): void {
    const length = history[0]?.length ?? 0;
    if (!length) return;
    this.advance(from + length - 1);
    this.recordOldest(from);
    this.revision += 1;
    const skipped = Math.max(0, this.newest - this.capacity + 1 - from);
    this.columnsOf(uid, from + length - 1).forEach((column, index) => {
      const values = history[index] ?? [];
      for (let t = skipped; t < length; t += 1) {
        const value = values[t];
        if (value !== null && value !== undefined) column[(from + t) % this.capacity] = value;
      }
    });
  }

  /** Make `second` the newest second and clear seconds that leave the window. */
  advance(second: number): void {
    if (second <= this.newest) return;
    const missed = this.newest ? Math.min(second - this.newest, this.capacity) : this.capacity;
    const start = second - missed + 1;
    for (const columns of this.series.values()) {
      for (const column of columns) {
        if (missed === this.capacity) column.fill(Number.NaN);
        else for (let t = start; t <= second; t += 1) column[t % this.capacity] = Number.NaN;
      }
    }
    this.newest = second;
    this.sweep();
  }

  /** Remove series without samples in the entire window, because their objects were deleted. */
  private sweep(): void {
    if (this.newest < this.sweepAt) return;
    this.sweepAt = this.newest + SWEEP_INTERVAL;
    for (const [uid, second] of this.newestBySeries) {
      if (second > this.newest - this.capacity) continue;
      this.series.delete(uid);
      this.newestBySeries.delete(uid);
    }
  }

  /** Return one value per second of [from, to]; NaN without a sample. */
  read(uid: string, metric: string, from: number, to: number): Float64Array {
    const result = new Float64Array(Math.max(0, to - from + 1)).fill(Number.NaN);
    this.forEachPiece(uid, metric, from, to, (at, values) => result.set(values, at));
    return result;
  }

  /** Pass the values of [from, to] to `visit` in one or more pieces. `at`: offset of a piece from `from`. */
  forEachPiece(
    uid: string,
    metric: string,
    from: number,
    to: number,
    visit: (at: number, values: Float64Array) => void,
  ): void {
    const column = this.column(uid, metric);
    if (!column) return;
    const first = Math.max(from, this.newest - this.capacity + 1);
    const last = Math.min(to, this.newest);
    for (let t = first; t <= last; ) {
      const slot = t % this.capacity;
      const length = Math.min(last - t + 1, this.capacity - slot);
      visit(t - from, column.subarray(slot, slot + length));
      t += length;
    }
  }

  /** Return the newest value of the last few seconds; NaN if there is none. */
  latest(uid: string, metric: string, at = this.newest): number {
    const column = this.column(uid, metric);
    if (!column) return Number.NaN;
    const newest = Math.min(at, this.newest);
    const oldest = Math.max(at - MAX_FRESH_AGE, this.newest - this.capacity + 1);
    for (let t = newest; t >= oldest; t -= 1) {
      const value = column[t % this.capacity] ?? Number.NaN;
      if (!Number.isNaN(value)) return value;
    }
    return Number.NaN;
  }

  /** Return the newest sum of some metrics that is at most `maxAge` seconds older than the second `at`. */
  newestKnown(
    uid: string,
    metrics: readonly string[],
    at: number,
    maxAge: number,
  ): { value: number; age: number } | null {
    const columns = metrics.map((metric) => this.column(uid, metric));
    const oldest = Math.max(at - maxAge, this.newest - this.capacity + 1);
    for (let t = Math.min(at, this.newest); t >= oldest; t -= 1) {
      const value = columns.reduce((sum, row) => sum + (row?.[t % this.capacity] ?? Number.NaN), 0);
      if (!Number.isNaN(value)) return { value, age: at - t };
    }
    return null;
  }

  /**
   * Return whether recent seconds of a series are complete, so that a metric without a value was not measured. Endpoints count
   * requests and measure latency, so both are missing if one of them has not reported.
   */
  isCurrent(uid: string, at: number): boolean {
    return this.columnIndex.has(REQUESTS)
      ? !Number.isNaN(this.latest(uid, REQUESTS, at))
      : at - (this.newestBySeries.get(uid) ?? 0) <= MAX_FRESH_AGE;
  }

  private recordOldest(second: number): void {
    if (!this.oldest || second < this.oldest) this.oldest = second;
  }

  private column(uid: string, metric: string): Float64Array | undefined {
    const index = this.columnIndex.get(metric);
    return index === undefined ? undefined : this.series.get(uid)?.[index];
  }

  private columnsOf(uid: string, second: number): Float64Array[] {
    if (second > (this.newestBySeries.get(uid) ?? 0)) this.newestBySeries.set(uid, second);
    let columns = this.series.get(uid);
    if (!columns) {
      columns = this.metrics.map(() => new Float64Array(this.capacity).fill(Number.NaN));
      this.series.set(uid, columns);
    }
    return columns;
  }
}
