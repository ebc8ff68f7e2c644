/**
 * What the rings no longer hold, read from the store. Everything a page wants of one topic is one
 * request; while live, only the intervals that ended since are asked for.
 */
import { isCancelledError, type QueryClient, type QueryKey } from '@tanstack/react-query';
import { historyQuery } from '@/api/history';
import { messageOf } from '@/api/http';
import { intervalCount, intervalEnd, intervalStart } from '@/lib/resolution';
import { append, endOf, type PastColumns, toColumns } from './columns';

interface Wanted {
  from: number;
  to: number;
  step: number;
}

/** The latest intervals may have been incomplete when they were read. */
const READ_AGAIN = 2;
/** An interval that has just ended may not be stored yet. */
const SETTLE_MS = 2_000;
/** Until what failed is asked for again. */
const AGAIN_MS = 5_000;

export class PastSeries {
  columns: PastColumns | null = null;
  /** Why there is nothing yet. */
  reason: string | undefined;
  private readonly metrics = new Map<string, number>();
  private readonly listeners = new Set<() => void>();
  private asked = '';
  private wanted: Wanted | null = null;
  /** Of the request on its way. */
  private asking: { queryKey: QueryKey; grows: boolean } | null = null;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly client: QueryClient,
    private readonly topic: string,
    private readonly uids: readonly string[] | undefined,
    private readonly now: () => number,
  ) {}

  subscribe(metrics: readonly string[], listener: () => void): () => void {
    this.listeners.add(listener);
    for (const name of metrics) this.metrics.set(name, (this.metrics.get(name) ?? 0) + 1);
    return () => {
      this.listeners.delete(listener);
      for (const name of metrics) {
        const left = (this.metrics.get(name) ?? 1) - 1;
        if (left) this.metrics.set(name, left);
        else this.metrics.delete(name);
      }
      if (this.idle) this.leave();
      else if (this.reason) this.again();
    };
  }

  get idle(): boolean {
    return this.listeners.size === 0;
  }

  /** Sees to it that [from, to] becomes known; cheap when it already is. */
  want(from: number, to: number, step: number): void {
    const next = { from: intervalStart(from, step), to: intervalEnd(to, step), step };
    const now = this.wanted;
    if (now && now.from === next.from && now.to === next.to && now.step === step) return;
    this.leave();
    this.wanted = next;
    if (this.covers(next)) return;
    const grows = this.columns && this.tail(next) !== next.from;
    // Charts say one after the other what they want; then it is one request.
    this.timer = setTimeout(() => void this.load(), grows ? SETTLE_MS : 0);
  }

  /** A metric that came later is not in what is known. */
  add(): void {
    if (!this.wanted || this.asked === this.names().join()) return;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => void this.load(), 0);
  }

  /** Nobody waits for what is asked just now. */
  private leave(): void {
    clearTimeout(this.timer);
    if (!this.asking) return;
    const { queryKey, grows } = this.asking;
    this.asking = null;
    if (!grows) this.asked = '';
    void this.client.cancelQueries({ queryKey, exact: true });
  }

  /** What was refused may be answered later, or without the metrics that nobody wants any more. */
  private again(wait = 0): void {
    clearTimeout(this.timer);
    if (!this.idle) this.timer = setTimeout(() => void this.load(), wait);
  }

  private covers({ from, to, step }: Wanted): boolean {
    const known = this.columns;
    if (!known || known.step !== step || this.asked !== this.names().join()) return false;
    return known.from <= from && endOf(known) >= to;
  }

  private names(): string[] {
    return [...this.metrics.keys()].sort();
  }

  /** From where on it has to be read: the beginning, or the end of what is known. */
  private tail({ from, to, step }: Wanted): number {
    const known = this.columns;
    if (!known || known.step !== step || this.asked !== this.names().join()) return from;
    const again = endOf(known) - READ_AGAIN * step;
    return known.from <= from && again > from && again < to ? again : from;
  }

  private async load(): Promise<void> {
    const { wanted, topic, uids } = this;
    const metrics = this.names();
    if (!wanted || !metrics.length) return;
    const from = this.tail(wanted);
    const { to, step } = wanted;
    const points = Math.max(1, intervalCount(from, to, step));
    const grows = from !== wanted.from;
    if (!grows) this.asked = metrics.join();
    try {
      const query = historyQuery({ topic, uids, metrics, from, to, points });
      // Only a window that has passed keeps its numbers.
      const staleTime = to < this.now() ? Number.POSITIVE_INFINITY : (step * 1000) / 2;
      this.asking = { queryKey: query.queryKey, grows };
      const reply = await this.client.fetchQuery({ ...query, staleTime });
      if (wanted !== this.wanted) return;
      this.asking = null;
      const read = toColumns(reply, this.now());
      const joins = grows && this.columns?.step === read.step;
      this.columns = joins && this.columns ? append(this.columns, read, wanted.from) : read;
      this.reason = undefined;
    } catch (error) {
      if (wanted !== this.wanted || isCancelledError(error)) return;
      this.asking = null;
      this.reason = `The stored history could not be read: ${messageOf(error)}`;
      this.again(this.names().join() === metrics.join() ? AGAIN_MS : 0);
    }
    for (const listener of this.listeners) listener();
  }
}

/** One PastSeries for each topic and choice of uids, shared by all charts of the page. */
export class Past {
  private readonly all = new Map<string, PastSeries>();

  constructor(
    private readonly client: QueryClient,
    private readonly now: () => number,
  ) {}

  of(topic: string, uids: readonly string[] | undefined): PastSeries {
    const key = `${topic} ${uids?.join() ?? ''}`;
    let found = this.all.get(key);
    if (!found) {
      // What nobody looks at any more goes when something new is wanted.
      for (const [name, series] of this.all) if (series.idle) this.all.delete(name);
      found = new PastSeries(this.client, topic, uids, () => this.now() / 1000);
      this.all.set(key, found);
    }
    return found;
  }
}
