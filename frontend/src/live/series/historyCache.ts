/**
 * Stored history that the ring buffers no longer contain. All charts of a page share one request per
 * topic. While the window follows time, only intervals that have ended since are requested.
 */
import type { QueryClient, QueryKey } from '@tanstack/react-query';
import { messageOf } from '@/api/http';
import { historyQuery } from '@/api/metrics/history';
import { intervalCount, intervalEnd, intervalStart } from '@/lib/resolution';
import { appendHistory, type HistoryColumns, historyEnd, toHistoryColumns } from './historyColumns';

interface TimeRange {
  from: number;
  to: number;
  step: number;
}

/** Number of intervals that are read again, because they may have been incomplete. */
const REREAD_INTERVALS = 2;
/** Delay before an interval that has just ended is read, because it may not be stored yet. */
const SETTLE_MS = 2_000;
/** Delay before a failed request is sent again. */
const RETRY_MS = 5_000;

export class HistorySeries {
  columns: HistoryColumns | null = null;
  /** Why there is no data yet. */
  reason: string | undefined;
  private readonly metrics = new Map<string, number>();
  private readonly listeners = new Set<() => void>();
  /** Metrics in `columns`, and metrics of the last request, regardless of its result. */
  private loadedMetrics = '';
  private requestedMetrics = '';
  private range: TimeRange | null = null;
  /** The running request. */
  private request: { queryKey: QueryKey } | null = null;
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
        const count = (this.metrics.get(name) ?? 1) - 1;
        if (count) this.metrics.set(name, count);
        else this.metrics.delete(name);
      }
      if (this.idle) this.leave();
      else if (this.reason) this.schedule();
    };
  }

  get idle(): boolean {
    return this.listeners.size === 0;
  }

  /** Load [from, to] if necessary. Inexpensive if it is already loaded. */
  ensureRange(from: number, to: number, step: number): void {
    const next = { from: intervalStart(from, step), to: intervalEnd(to, step), step };
    const now = this.range;
    if (now && now.from === next.from && now.to === next.to && now.step === step) return;
    this.leave();
    this.range = next;
    if (this.covers(next)) return;
    const isAppend = this.columns && this.tail(next) !== next.from;
    // Wait until all charts have registered their metrics, so that one request is sufficient.
    this.schedule(isAppend ? SETTLE_MS : 0);
  }

  /** Load metrics that were registered after the last request. */
  loadNewMetrics(): void {
    if (this.range && this.requestedMetrics !== this.names().join()) this.schedule();
  }

  /** Cancel running and scheduled requests. Subscribers that return request the data again. */
  private leave(): void {
    if (this.timer === undefined && !this.request) return;
    clearTimeout(this.timer);
    this.timer = undefined;
    this.cancel();
    this.range = null;
    this.requestedMetrics = '';
  }

  private cancel(): void {
    const { request } = this;
    this.request = null;
    if (request) void this.client.cancelQueries({ queryKey: request.queryKey, exact: true });
  }

  private schedule(wait = 0): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.timer = undefined;
      void this.load();
    }, wait);
  }

  private covers({ from, to, step }: TimeRange): boolean {
    const loaded = this.columns;
    if (!loaded || loaded.step !== step || this.loadedMetrics !== this.names().join()) return false;
    return loaded.from <= from && historyEnd(loaded) >= to;
  }

  private names(): string[] {
    return [...this.metrics.keys()].sort();
  }

  /**
   * Return the second from which data must be read: the start of the range, or the end of the
   * loaded data.
   */
  private tail({ from, to, step }: TimeRange): number {
    const loaded = this.columns;
    if (!loaded || loaded.step !== step || this.loadedMetrics !== this.names().join()) return from;
    const rereadStart = historyEnd(loaded) - REREAD_INTERVALS * step;
    return loaded.from <= from && rereadStart > from && rereadStart < to ? rereadStart : from;
  }

  private async load(): Promise<void> {
    const { range, topic, uids } = this;
    const metrics = this.names();
    const names = metrics.join();
    if (!range || !names) return;
    this.cancel();
    const from = this.tail(range);
    const { to, step } = range;
    const points = Math.max(1, intervalCount(from, to, step));
    const isAppend = from !== range.from;
    const query = historyQuery({ topic, uids, metrics, from, to, points });
    // Only the data of past windows no longer changes.
    const staleTime = to < this.now() ? Number.POSITIVE_INFINITY : (step * 1000) / 2;
    const request = { queryKey: query.queryKey };
    this.request = request;
    this.requestedMetrics = names;
    try {
      const reply = await this.client.fetchQuery({ ...query, staleTime });
      if (this.request !== request) return;
      const read = toHistoryColumns(reply, this.now());
      const canAppend = isAppend && this.columns?.step === read.step;
      this.columns =
        canAppend && this.columns ? appendHistory(this.columns, read, range.from) : read;
      this.loadedMetrics = names;
      this.reason = undefined;
    } catch (error) {
      if (this.request !== request) return;
      this.reason = `The stored history could not be loaded: ${messageOf(error)}`;
      if (!this.idle) this.schedule(this.names().join() === names ? RETRY_MS : 0);
    }
    this.request = null;
    for (const listener of this.listeners) listener();
  }
}

/** `HistorySeries` by topic and uids, shared by all charts of the page. */
export class HistoryCache {
  private readonly all = new Map<string, HistorySeries>();

  constructor(
    private readonly client: QueryClient,
    private readonly now: () => number,
  ) {}

  get(topic: string, uids: readonly string[] | undefined): HistorySeries {
    const key = `${topic} ${uids?.join() ?? ''}`;
    let found = this.all.get(key);
    if (!found) {
      // Remove series without subscribers when a new one is added.
      for (const [name, series] of this.all) if (series.idle) this.all.delete(name);
      found = new HistorySeries(this.client, topic, uids, () => this.now() / 1000);
      this.all.set(key, found);
    }
    return found;
  }
}
