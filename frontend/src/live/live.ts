/**
 * Owner of the live data: stream, ring buffers and clock. Samples go from the stream to the ring
 * buffers, and once per second directly to canvases and text nodes. React renders only when objects
 * change.
 */
import type { QueryClient } from '@tanstack/react-query';
import { nodesQuery } from '@/api/cluster/nodes';
import { bdbsQuery } from '@/api/databases/bdbs';
import { messageOf, request } from '@/api/http';
import type { Node } from '@/api/types';
import { lostSince } from '@/lib/connection';
import { createStore } from '@/lib/store';
import { setClockOffset } from '@/lib/time';
import type { NodeCount } from '@/ui/figure/figureState';
import { type Freshness, freshness } from './freshness';
import { HistoryCache } from './series/historyCache';
import { RETENTION, TopicRing } from './series/ring';
import { applyChanges, refreshObjects } from './stream/applyChanges';
import { ClockSkew } from './stream/clockSkew';
import type { Change, FrameName, Frames, History, Sample } from './stream/frames';
import { LiveStream, type StreamState } from './stream/stream';

export const BASE_TOPICS = ['cluster', 'nodes', 'bdbs'] as const;
const HIDDEN_GRACE_MS = 30_000;
/** Time for the initial requests of a page. The first refetch waits for it. */
const SETTLED_MS = 2_000;
const MAX_DELAYS = 300;
/** Maximum number of history rows (shards × seconds) that are loaded when a page opens. */
const HISTORY_ROWS = 15_000;
const MIN_HISTORY_SECONDS = 10;
/** Time budget for listeners per frame, of the 16 ms between two frames. */
const FRAME_BUDGET_MS = 6;
const HEARTBEAT_MS = 1_000;

export class Live {
  readonly state = createStore<StreamState>({ phase: 'idle' });
  /** Whether samples arrive as expected. */
  readonly freshness = createStore<Freshness>('waiting');
  /** Error of a listener; null when all listeners accept samples again. */
  readonly drawError = createStore<string | null>(null);
  readonly history: HistoryCache;
  private readonly rings = new Map<string, TopicRing>();
  private readonly topicSubscribers = new Map<string, number>();
  private readonly listeners = new Set<() => void>();
  private readonly delays: number[] = [];
  private readonly stream: LiveStream;
  private changes: Change[] = [];
  private frame = 0;
  /** Whether data arrived while listeners were being notified. */
  private hasNewData = false;
  private followTimer: ReturnType<typeof setTimeout> | undefined;
  private pauseTimer: ReturnType<typeof setTimeout> | undefined;
  private refreshTimer: ReturnType<typeof setTimeout> | undefined;
  private hasConnected = false;
  private running = false;
  private heartbeat: ReturnType<typeof setInterval> | undefined;
  /**
   * Times at which the newest sample was taken (console's clock) and arrived (browser's clock), in
   * epoch milliseconds.
   */
  private newestSample = { sampledAt: Number.NaN, receivedAt: Number.NaN };
  private listenerError: string | null = null;
  private readonly skew = new ClockSkew();

  constructor(private readonly client: QueryClient) {
    this.history = new HistoryCache(client, () => this.now());
    this.stream = new LiveStream({
      open: (url) => new EventSource(url),
      onFrame: (name, data) => this.handleFrame(name, data),
      onState: (state) => this.handleState(state),
      history: () => this.historySeconds(),
    });
  }

  start(): void {
    if (this.running) return;
    this.running = true;
    document.addEventListener('visibilitychange', this.onVisibility);
    this.heartbeat = setInterval(() => this.beat(), HEARTBEAT_MS);
    this.scheduleFollow();
  }

  stop(): void {
    this.running = false;
    document.removeEventListener('visibilitychange', this.onVisibility);
    clearTimeout(this.followTimer);
    clearTimeout(this.refreshTimer);
    clearInterval(this.heartbeat);
    this.newestSample = { sampledAt: Number.NaN, receivedAt: Number.NaN };
    this.hasConnected = false;
    lostSince.set(null);
    this.stream.stop();
    this.rings.clear();
  }

  retryNow(): void {
    this.stream.retryNow();
  }

  /** Subscribe to a topic. Returns a function that ends the subscription. */
  subscribeTopic(topic: string): () => void {
    this.topicSubscribers.set(topic, (this.topicSubscribers.get(topic) ?? 0) + 1);
    this.scheduleFollow();
    return () => {
      const count = (this.topicSubscribers.get(topic) ?? 1) - 1;
      if (count > 0) this.topicSubscribers.set(topic, count);
      else this.topicSubscribers.delete(topic);
      this.scheduleFollow();
    };
  }

  ring(topic: string): TopicRing {
    let ring = this.rings.get(topic);
    if (!ring) {
      ring = new TopicRing();
      this.rings.set(topic, ring);
    }
    return ring;
  }

  /** Call `listener` once after samples arrived, before a frame is drawn. */
  onTick(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Draw once. Errors are reported like those of tick listeners. */
  drawOnce(draw: () => void): void {
    this.runGuarded(draw);
    if (this.listenerError) this.schedule();
  }

  now(): number {
    return Date.now() + this.skew.offset;
  }

  /** Return the second at the right edge of live charts. It advances even without samples. */
  edge(): number {
    let newest = 0;
    for (const topic of BASE_TOPICS) newest = Math.max(newest, this.ring(topic).newest);
    const second = Math.floor(this.now() / 1000);
    return second - newest > 2 ? second - 1 : newest;
  }

  /**
   * Return the time between taking a sample on the agent and its arrival in the browser, in milliseconds:
   * newest and 99th percentile.
   */
  delay(): { last: number; p99: number } {
    const sorted = [...this.delays].sort((a, b) => a - b);
    const rank = Math.ceil(sorted.length * 0.99) - 1;
    return { last: this.delays.at(-1) ?? Number.NaN, p99: sorted[rank] ?? Number.NaN };
  }

  /**
   * Return the seconds of history to request. Shard topics have many series, so fewer seconds are
   * requested if there are (or may be) hundreds of shards. Charts read missing seconds from the
   * store, and only the metrics that they show.
   */
  private historySeconds(): number {
    const perShard = [...this.topicSubscribers.keys()].some((topic) => topic.startsWith('shards:'));
    if (!perShard) return RETENTION;
    const shards = this.client.getQueryData<unknown[]>(['shards'])?.length ?? HISTORY_ROWS;
    return Math.min(
      RETENTION,
      Math.max(MIN_HISTORY_SECONDS, Math.floor(HISTORY_ROWS / (shards || 1))),
    );
  }

  private scheduleFollow(): void {
    if (!this.running) return;
    clearTimeout(this.followTimer);
    // Wait briefly, because navigation removes and adds several topics.
    this.followTimer = setTimeout(() => {
      for (const topic of this.rings.keys()) {
        if (!this.isSubscribed(topic)) this.rings.delete(topic);
      }
      this.stream.follow([...BASE_TOPICS, ...this.topicSubscribers.keys()]);
    }, 30);
  }

  private isSubscribed(topic: string): boolean {
    return this.topicSubscribers.has(topic) || BASE_TOPICS.some((base) => base === topic);
  }

  private onVisibility = (): void => {
    clearTimeout(this.pauseTimer);
    if (document.hidden) {
      // Browsers allow six connections per host, so hidden tabs release theirs.
      this.pauseTimer = setTimeout(() => this.stream.pause(), HIDDEN_GRACE_MS);
    } else {
      this.scheduleFollow();
    }
  };

  private handleState(state: StreamState): void {
    this.state.set(state);
    // Ignore short interruptions.
    if (state.phase === 'live' || state.phase === 'idle') lostSince.set(null);
    else if (state.phase === 'lost' && state.attempt > 1) lostSince.set(state.since);
    this.updateFreshness();
    // EventSource does not report the cause of an error. A regular request does, and a 401
    // redirects to the sign-in page.
    if (state.phase === 'lost' && state.attempt > 1) {
      request('GET', '/v1/cluster').catch(() => undefined);
    }
  }

  private handleFrame<N extends FrameName>(name: N, data: Frames[N]): void {
    if (name === 'hello') {
      this.skew.onHello((data as Frames['hello']).server_time, Date.now());
      setClockOffset(this.skew.offset);
      this.refresh();
    } else if (name === 'history') this.insert(data as History);
    else if (name === 'sample') this.add(data as Sample);
    else if (name === 'change') this.changes.push(data as Change);
    this.schedule();
  }

  /**
   * Refetch objects that may have changed while disconnected. The first time, the page has just
   * fetched them, so this can wait.
   */
  private refresh(): void {
    clearTimeout(this.refreshTimer);
    const wait = this.hasConnected ? 0 : SETTLED_MS;
    this.hasConnected = true;
    this.refreshTimer = setTimeout(() => refreshObjects(this.client), wait);
  }

  private insert(history: History): void {
    const ring = this.ring(history.topic);
    ring.setMetrics(history.metrics);
    ring.advance(history.from + history.count - 1);
    for (const [uid, columns] of Object.entries(history.series)) {
      ring.fill(history.from, uid, columns);
    }
  }

  private add(sample: Sample): void {
    const ring = this.ring(sample.topic);
    ring.advance(sample.t);
    for (const [uid, values] of Object.entries(sample.series)) ring.write(sample.t, uid, values);
    this.skew.onSample(sample.at, Date.now());
    setClockOffset(this.skew.offset);
    this.newestSample = { sampledAt: sample.at, receivedAt: Date.now() };
    this.updateFreshness();
    this.delays.push(this.now() - sample.at);
    if (this.delays.length > MAX_DELAYS) this.delays.shift();
  }

  /** Run a listener. An error in one component must not prevent the updates of others. */
  private runGuarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      if (!this.listenerError) console.error(error);
      this.listenerError ??= messageOf(error);
    }
  }

  /** Without samples, figures still have to show their age. */
  private beat(): void {
    this.updateFreshness();
    if (this.freshness.get() !== 'fresh') this.schedule();
  }

  private updateFreshness(): void {
    const lost = this.state.get().phase === 'lost';
    this.freshness.set(
      freshness(this.newestSample, Date.now(), this.skew.offset, lost, this.isComplete()),
    );
  }

  /**
   * Return the numbers of nodes that report and that should report; null if they are unknown, for
   * example to users who cannot view nodes. Totals do not wait for nodes that are down.
   */
  nodes(): NodeCount | null {
    const ring = this.ring('nodes');
    const nodes = this.client.getQueryData<Node[]>(nodesQuery.queryKey);
    if (!nodes || !ring.newest) return null;
    const expected = nodes.filter(({ status }) => status !== 'down').map(({ uid }) => String(uid));
    const edge = this.edge();
    const reporting = expected.filter(
      (uid) => !Number.isNaN(ring.latest(uid, 'free_memory', edge)),
    );
    return { expected: expected.length, reporting: reporting.length };
  }

  /** Return whether the newest seconds contain all nodes and the totals. Without databases, there are no totals. */
  private isComplete(): boolean {
    const nodes = this.nodes();
    if (nodes && nodes.reporting < nodes.expected) return false;
    const ring = this.ring('cluster');
    const hasDatabases = this.client.getQueryData<unknown[]>(bdbsQuery.queryKey)?.length !== 0;
    return !hasDatabases || !ring.has('cluster') || ring.isCurrent('cluster', this.edge());
  }

  private schedule(): void {
    if (this.frame) this.hasNewData = true;
    else this.frame = requestAnimationFrame(() => this.notify([...this.listeners]));
  }

  /** Notify all listeners, spread over several frames if necessary, so that no frame is delayed. */
  private notify(remaining: (() => void)[]): void {
    const changes = this.changes.splice(0);
    if (changes.length) this.runGuarded(() => applyChanges(this.client, changes));
    const until = performance.now() + FRAME_BUDGET_MS;
    let next = remaining.shift();
    for (; next; next = performance.now() < until ? remaining.shift() : undefined) {
      if (this.listeners.has(next)) this.runGuarded(next);
    }
    if (remaining.length) this.frame = requestAnimationFrame(() => this.notify(remaining));
    else {
      this.frame = 0;
      this.drawError.set(this.listenerError);
      this.listenerError = null;
      const hasMoreData = this.hasNewData;
      this.hasNewData = false;
      if (hasMoreData) this.schedule();
    }
  }
}
