/**
 * Everything live in one object: stream, rings, clock. Samples go from the stream into the
 * rings and from there straight to canvases and text nodes, once per second; React hears only
 * about objects that changed.
 */
import type { QueryClient } from '@tanstack/react-query';
import { messageOf, request } from '@/api/http';
import { createStore } from '@/lib/store';
import { correctClock } from '@/lib/time';
import { applyChanges, refreshObjects } from './apply';
import { ClockSkew } from './clockSkew';
import type { Change, FrameName, Frames, History, Sample } from './frames';
import { type Freshness, freshness } from './freshness';
import { Past } from './past';
import { RETENTION, TopicRing } from './ring';
import { LiveStream, type StreamState } from './stream';

export const BASE_TOPICS = ['cluster', 'nodes', 'bdbs'] as const;
const HIDDEN_GRACE_MS = 30_000;
/** After which a page that was just opened has other things to do no more. */
const SETTLED_MS = 2_000;
const KEPT_DELAYS = 300;
/** Rows (shard seconds) of history worth waiting for when a page opens. */
const HISTORY_ROWS = 15_000;
const HISTORY_LEAST = 10;
/** Of the 16 ms between two frames. */
const FRAME_BUDGET_MS = 6;
const HEARTBEAT_MS = 1_000;

export class Live {
  readonly state = createStore<StreamState>({ phase: 'idle' });
  /** Whether samples come as they should. */
  readonly freshness = createStore<Freshness>('waiting');
  /** What a part of the page failed with when it was told; null once all of them take samples again. */
  readonly fault = createStore<string | null>(null);
  readonly past: Past;
  private readonly rings = new Map<string, TopicRing>();
  private readonly wanted = new Map<string, number>();
  private readonly listeners = new Set<() => void>();
  private readonly delays: number[] = [];
  private readonly stream: LiveStream;
  private changes: Change[] = [];
  private frame = 0;
  /** Something arrived while the listeners were being told. */
  private more = false;
  private follow: ReturnType<typeof setTimeout> | undefined;
  private hidden: ReturnType<typeof setTimeout> | undefined;
  private refreshing: ReturnType<typeof setTimeout> | undefined;
  private greeted = false;
  private running = false;
  private heartbeat: ReturnType<typeof setInterval> | undefined;
  /** When the newest sample was taken and when it arrived, epoch milliseconds of the console's and of this clock. */
  private sampled = { taken: Number.NaN, arrived: Number.NaN };
  private failed: string | null = null;
  private readonly skew = new ClockSkew();

  constructor(private readonly client: QueryClient) {
    this.past = new Past(client, () => this.now());
    this.stream = new LiveStream({
      open: (url) => new EventSource(url),
      onFrame: (name, data) => this.received(name, data),
      onState: (state) => this.changed(state),
      history: () => this.historySeconds(),
    });
  }

  start(): void {
    if (this.running) return;
    this.running = true;
    document.addEventListener('visibilitychange', this.onVisibility);
    this.heartbeat = setInterval(() => this.look(), HEARTBEAT_MS);
    this.refollow();
  }

  stop(): void {
    this.running = false;
    document.removeEventListener('visibilitychange', this.onVisibility);
    clearTimeout(this.follow);
    clearTimeout(this.refreshing);
    clearInterval(this.heartbeat);
    this.sampled = { taken: Number.NaN, arrived: Number.NaN };
    this.greeted = false;
    this.stream.stop();
    this.rings.clear();
  }

  retryNow(): void {
    this.stream.retryNow();
  }

  /** Follows a topic for as long as somebody needs it. */
  want(topic: string): () => void {
    this.wanted.set(topic, (this.wanted.get(topic) ?? 0) + 1);
    this.refollow();
    return () => {
      const left = (this.wanted.get(topic) ?? 1) - 1;
      if (left > 0) this.wanted.set(topic, left);
      else this.wanted.delete(topic);
      this.refollow();
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

  /** Called once after samples arrived, before a frame is drawn. */
  onTick(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Draws once; a failure is told as one of a tick is. */
  attempt(draw: () => void): void {
    this.guarded(draw);
    if (this.failed) this.schedule();
  }

  now(): number {
    return Date.now() + this.skew.offset;
  }

  /** The second at the right edge of live charts: moves on even when samples stop. */
  edge(): number {
    let newest = 0;
    for (const topic of BASE_TOPICS) newest = Math.max(newest, this.ring(topic).newest);
    const second = Math.floor(this.now() / 1000);
    return second - newest > 2 ? second - 1 : newest;
  }

  /** Milliseconds from the agent's look to this page: newest, and 99th percentile. */
  delay(): { last: number; p99: number } {
    const sorted = [...this.delays].sort((a, b) => a - b);
    const rank = Math.ceil(sorted.length * 0.99) - 1;
    return { last: this.delays.at(-1) ?? Number.NaN, p99: sorted[rank] ?? Number.NaN };
  }

  /**
   * Shard topics are wide: ask for fewer seconds when there are hundreds of shards, or may be.
   * Charts read what is missing from the store, and only the metrics they show.
   */
  private historySeconds(): number {
    const perShard = [...this.wanted.keys()].some((topic) => topic.startsWith('shards:'));
    if (!perShard) return RETENTION;
    const shards = this.client.getQueryData<unknown[]>(['shards'])?.length ?? HISTORY_ROWS;
    return Math.min(RETENTION, Math.max(HISTORY_LEAST, Math.floor(HISTORY_ROWS / (shards || 1))));
  }

  private refollow(): void {
    if (!this.running) return;
    clearTimeout(this.follow);
    // A page change drops and adds topics in one go; wait for it to settle.
    this.follow = setTimeout(() => {
      for (const topic of this.rings.keys()) {
        if (!this.isFollowed(topic)) this.rings.delete(topic);
      }
      this.stream.follow([...BASE_TOPICS, ...this.wanted.keys()]);
    }, 30);
  }

  private isFollowed(topic: string): boolean {
    return this.wanted.has(topic) || BASE_TOPICS.some((base) => base === topic);
  }

  private onVisibility = (): void => {
    clearTimeout(this.hidden);
    if (document.hidden) {
      // Browsers allow six connections per host: a tab nobody sees gives its own back.
      this.hidden = setTimeout(() => this.stream.pause(), HIDDEN_GRACE_MS);
    } else {
      this.refollow();
    }
  };

  private changed(state: StreamState): void {
    this.state.set(state);
    this.look();
    // An EventSource does not tell why it failed; a plain call does, and a 401 leads to the login.
    if (state.phase === 'lost' && state.attempt > 1) {
      request('GET', '/v1/cluster').catch(() => undefined);
    }
  }

  private received<N extends FrameName>(name: N, data: Frames[N]): void {
    if (name === 'hello') {
      this.skew.greeted((data as Frames['hello']).server_time, Date.now());
      correctClock(this.skew.offset);
      this.refresh();
    } else if (name === 'history') this.insert(data as History);
    else if (name === 'sample') this.add(data as Sample);
    else if (name === 'change') this.changes.push(data as Change);
    this.schedule();
  }

  /** What changed while nobody listened. At the beginning the page has just asked, so it can wait. */
  private refresh(): void {
    clearTimeout(this.refreshing);
    const wait = this.greeted ? 0 : SETTLED_MS;
    this.greeted = true;
    this.refreshing = setTimeout(() => refreshObjects(this.client), wait);
  }

  private insert(history: History): void {
    const ring = this.ring(history.topic);
    ring.describe(history.metrics);
    ring.advance(history.from + history.count - 1);
    for (const [uid, columns] of Object.entries(history.series)) {
      ring.fill(history.from, uid, columns);
    }
  }

  private add(sample: Sample): void {
    const ring = this.ring(sample.topic);
    ring.advance(sample.t);
    for (const [uid, values] of Object.entries(sample.series)) ring.write(sample.t, uid, values);
    this.skew.sampled(sample.at, Date.now());
    correctClock(this.skew.offset);
    this.sampled = { taken: sample.at, arrived: Date.now() };
    this.look();
    this.delays.push(this.now() - sample.at);
    if (this.delays.length > KEPT_DELAYS) this.delays.shift();
  }

  /** One part of the page that breaks must not take the numbers of the others along. */
  private guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      if (!this.failed) console.error(error);
      this.failed ??= messageOf(error);
    }
  }

  private look(): void {
    const lost = this.state.get().phase === 'lost';
    this.freshness.set(freshness(this.sampled, Date.now(), this.skew.offset, lost));
  }

  private schedule(): void {
    if (this.frame) this.more = true;
    else this.frame = requestAnimationFrame(() => this.tell([...this.listeners]));
  }

  /** Tells everybody, over as many frames as it takes: no frame is held up for long. */
  private tell(waiting: (() => void)[]): void {
    const changes = this.changes.splice(0);
    if (changes.length) this.guarded(() => applyChanges(this.client, changes));
    const until = performance.now() + FRAME_BUDGET_MS;
    let next = waiting.shift();
    for (; next; next = performance.now() < until ? waiting.shift() : undefined) {
      if (this.listeners.has(next)) this.guarded(next);
    }
    if (waiting.length) this.frame = requestAnimationFrame(() => this.tell(waiting));
    else {
      this.frame = 0;
      this.fault.set(this.failed);
      this.failed = null;
      const again = this.more;
      this.more = false;
      if (again) this.schedule();
    }
  }
}
