/**
 * What the rings no longer hold, read from the store. Everything a page wants of one topic is one
 * request; while live, only the intervals that ended since are asked for.
 */
import type { QueryClient, QueryKey } from '@tanstack/react-query';
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
  /** The metrics in `columns`, and those last asked for, whatever became of it. */
  private known = '';
  private tried = '';
  private wanted: Wanted | null = null;
  /** The request on its way. */
  private asking: { queryKey: QueryKey } | null = null;
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
      else if (this.reason) this.schedule();
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
    this.schedule(grows ? SETTLE_MS : 0);
  }

  /** A metric that came later is not in what is known. */
  add(): void {
    if (this.wanted && this.tried !== this.names().join()) this.schedule();
  }

  /** Nobody waits for what is asked, or about to be; whoever comes back asks again. */
  private leave(): void {
    if (this.timer === undefined && !this.asking) return;
    clearTimeout(this.timer);
    this.timer = undefined;
    this.cancel();
    this.wanted = null;
    this.tried = '';
  }

  private cancel(): void {
    const asking = this.asking;
    this.asking = null;
    if (asking) void this.client.cancelQueries({ queryKey: asking.queryKey, exact: true });
  }

  private schedule(wait = 0): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.timer = undefined;
      void this.load();
    }, wait);
  }

  private covers({ from, to, step }: Wanted): boolean {
    const known = this.columns;
    if (!known || known.step !== step || this.known !== this.names().join()) return false;
    return known.from <= from && endOf(known) >= to;
  }

  private names(): string[] {
    return [...this.metrics.keys()].sort();
  }

  /** From where on it has to be read: the beginning, or the end of what is known. */
  private tail({ from, to, step }: Wanted): number {
    const known = this.columns;
    if (!known || known.step !== step || this.known !== this.names().join()) return from;
    const again = endOf(known) - READ_AGAIN * step;
    return known.from <= from && again > from && again < to ? again : from;
  }

  private async load(): Promise<void> {
    const { wanted, topic, uids } = this;
    const metrics = this.names();
    const names = metrics.join();
    if (!wanted || !names) return;
    this.cancel();
    const from = this.tail(wanted);
    const { to, step } = wanted;
    const points = Math.max(1, intervalCount(from, to, step));
    const grows = from !== wanted.from;
    const query = historyQuery({ topic, uids, metrics, from, to, points });
    // Only a window that has passed keeps its numbers.
    const staleTime = to < this.now() ? Number.POSITIVE_INFINITY : (step * 1000) / 2;
    const mine = { queryKey: query.queryKey };
    this.asking = mine;
    this.tried = names;
    try {
      const reply = await this.client.fetchQuery({ ...query, staleTime });
      if (this.asking !== mine) return;
      const read = toColumns(reply, this.now());
      const joins = grows && this.columns?.step === read.step;
      this.columns = joins && this.columns ? append(this.columns, read, wanted.from) : read;
      this.known = names;
      this.reason = undefined;
    } catch (error) {
      if (this.asking !== mine) return;
      this.reason = `The stored history could not be read: ${messageOf(error)}`;
      if (!this.idle) this.schedule(this.names().join() === names ? AGAIN_MS : 0);
    }
    this.asking = null;
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
