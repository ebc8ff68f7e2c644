/**
 * The last 900 seconds of one topic: per series and metric a Float64Array indexed by epoch
 * second modulo capacity. NaN is a second without a sample, and stays a gap on the chart.
 */

export const RETENTION = 900;
/** Samples of one second arrive one after the other, and some of them a little later. */
export const LATE = 5;
/** A live number survives this many missing seconds before it turns into a dash. */
const LATEST_WITHIN = 3;
/** Seconds between two looks for series that have ended. */
const SWEEP = 60;

export type Values = readonly (number | null)[];

export class TopicRing {
  metrics: readonly string[] = [];
  /** Newest second written; 0 before the first sample. */
  newest = 0;
  /** First second that was ever there; 0 before the first sample. What is older was never asked for. */
  since = 0;
  /** Changes when seconds are filled in that were read before: what was made of them is outdated. */
  revision = 0;
  private readonly series = new Map<string, Float64Array[]>();
  /** Newest second written of each series. */
  private readonly written = new Map<string, number>();
  private sweepAt = 0;
  private columns = new Map<string, number>();

  constructor(readonly capacity = RETENTION) {}

  /** How many series are kept. */
  get size(): number {
    return this.series.size;
  }

  /** A different metric list means another console version: what was kept cannot be trusted. */
  describe(metrics: readonly string[]): void {
    if (metrics.join() === this.metrics.join()) return;
    this.metrics = [...metrics];
    this.columns = new Map(metrics.map((name, index) => [name, index]));
    this.series.clear();
    this.written.clear();
    this.newest = 0;
    this.since = 0;
  }

  write(second: number, uid: string, values: Values): void {
    if (second <= this.newest - this.capacity) return;
    this.advance(second);
    this.begin(second);
    if (second < this.newest - LATE) this.revision += 1;
    const columns = this.columnsOf(uid, second);
    const slot = second % this.capacity;
    for (let index = 0; index < columns.length; index += 1) {
      const value = values[index];
      const column = columns[index];
      // A null never erases: a back-filled second may arrive in parts.
      if (column && value !== null && value !== undefined) column[slot] = value;
    }
  }

  /** Writes a stretch of seconds beginning at `from`, one array per metric. */
  fill(from: number, uid: string, history: readonly Values[]): void {
    const length = history[0]?.length ?? 0;
    if (!length) return;
    this.advance(from + length - 1);
    this.begin(from);
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

  /** Forgets the seconds that fall out of the window when `second` becomes the newest. */
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

  /** What nobody has told of for as long as the window reaches belongs to an object that is gone. */
  private sweep(): void {
    if (this.newest < this.sweepAt) return;
    this.sweepAt = this.newest + SWEEP;
    for (const [uid, second] of this.written) {
      if (second > this.newest - this.capacity) continue;
      this.series.delete(uid);
      this.written.delete(uid);
    }
  }

  /** One value per second of [from, to]; NaN where nothing is known. */
  read(uid: string, metric: string, from: number, to: number): Float64Array {
    const result = new Float64Array(Math.max(0, to - from + 1)).fill(Number.NaN);
    this.each(uid, metric, from, to, (at, values) => result.set(values, at));
    return result;
  }

  /** Tells the values of [from, to] that may be known in pieces, by their distance from `from`. */
  each(
    uid: string,
    metric: string,
    from: number,
    to: number,
    tell: (at: number, values: Float64Array) => void,
  ): void {
    const column = this.column(uid, metric);
    if (!column) return;
    const first = Math.max(from, this.newest - this.capacity + 1);
    const last = Math.min(to, this.newest);
    for (let t = first; t <= last; ) {
      const slot = t % this.capacity;
      const length = Math.min(last - t + 1, this.capacity - slot);
      tell(t - from, column.subarray(slot, slot + length));
      t += length;
    }
  }

  /** The newest value not older than a few seconds, else NaN. */
  latest(uid: string, metric: string, at = this.newest): number {
    const column = this.column(uid, metric);
    if (!column) return Number.NaN;
    const newest = Math.min(at, this.newest);
    const oldest = Math.max(at - LATEST_WITHIN, this.newest - this.capacity + 1);
    for (let t = newest; t >= oldest; t -= 1) {
      const value = column[t % this.capacity] ?? Number.NaN;
      if (!Number.isNaN(value)) return value;
    }
    return Number.NaN;
  }

  private begin(second: number): void {
    if (!this.since || second < this.since) this.since = second;
  }

  private column(uid: string, metric: string): Float64Array | undefined {
    const index = this.columns.get(metric);
    return index === undefined ? undefined : this.series.get(uid)?.[index];
  }

  private columnsOf(uid: string, second: number): Float64Array[] {
    if (second > (this.written.get(uid) ?? 0)) this.written.set(uid, second);
    let columns = this.series.get(uid);
    if (!columns) {
      columns = this.metrics.map(() => new Float64Array(this.capacity).fill(Number.NaN));
      this.series.set(uid, columns);
    }
    return columns;
  }
}
