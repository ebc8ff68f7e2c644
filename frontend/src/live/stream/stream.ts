/**
 * The single EventSource of the page. This module reconnects instead of the browser, so that topics
 * can change, connections without frames are detected, and the UI can show the time of the next
 * attempt. The query parameter `since` requests missed seconds.
 */
import { consoleNow } from '@/lib/time';
import { FRAME_NAMES, type FrameName, type Frames } from './frames';

export type StreamState =
  | { phase: 'idle' }
  | { phase: 'connecting' }
  | { phase: 'live' }
  | { phase: 'lost'; since: number; attempt: number; retryAt: number };

/** The part of EventSource that is used. Tests implement it. */
export interface EventSourceLike {
  addEventListener(name: string, listener: (event: MessageEvent<string>) => void): void;
  onerror: ((event: Event) => void) | null;
  close(): void;
}

export interface StreamOptions {
  open: (url: string) => EventSourceLike;
  onFrame: <N extends FrameName>(name: N, data: Frames[N]) => void;
  onState: (state: StreamState) => void;
  /** Seconds of history to request for new topics. */
  history: () => number;
}

export const IDLE_TIMEOUT_MS = 10_000;
const BACKOFF_MS = [500, 1_000, 2_000, 4_000, 8_000];

export class LiveStream {
  private source: EventSourceLike | null = null;
  private topics: string[] = [];
  /** Newest second that was received, by topic. */
  private newestByTopic = new Map<string, number>();
  private lostSince = 0;
  private attempt = 0;
  private watchdog: ReturnType<typeof setTimeout> | undefined;
  private retry: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly options: StreamOptions) {}

  follow(topics: readonly string[]): void {
    const next = [...new Set(topics)].sort();
    if (this.source && next.join() === this.topics.join()) return;
    this.topics = next;
    for (const topic of this.newestByTopic.keys())
      if (!next.includes(topic)) this.newestByTopic.delete(topic);
    this.open();
  }

  retryNow(): void {
    if (this.topics.length) this.open();
  }

  stop(): void {
    this.close();
    this.topics = [];
    this.newestByTopic.clear();
    this.attempt = 0;
    this.lostSince = 0;
    this.options.onState({ phase: 'idle' });
  }

  /** Close the connection while the page is hidden. `follow` opens it again and requests missed seconds. */
  pause(): void {
    this.close();
    this.options.onState({ phase: 'idle' });
  }

  private url(): string {
    const query = new URLSearchParams({ topics: this.topics.join(',') });
    const positions = this.topics.flatMap((topic) => {
      const second = this.newestByTopic.get(topic);
      return second ? [`${topic}@${second}`] : [];
    });
    if (positions.length) query.set('since', positions.join(','));
    query.set('history', String(this.options.history()));
    return `/v1/stream?${query}`;
  }

  private open(): void {
    this.close();
    if (!this.lostSince) this.options.onState({ phase: 'connecting' });
    const source = this.options.open(this.url());
    this.source = source;
    for (const name of FRAME_NAMES) {
      source.addEventListener(name, (event) => {
        if (source !== this.source) return;
        this.handleFrame(name, event);
      });
    }
    source.onerror = () => {
      if (source === this.source) this.handleLoss();
    };
    this.watch();
  }

  private handleFrame<N extends FrameName>(name: N, event: MessageEvent<string>): void {
    this.watch();
    this.attempt = 0;
    this.lostSince = 0;
    let data: Frames[N];
    try {
      data = JSON.parse(event.data || '{}');
    } catch {
      // The frame is incomplete, so the rest of the stream is invalid.
      this.handleLoss();
      return;
    }
    if (name === 'history' || name === 'sample') {
      const { topic } = data as Frames['history' | 'sample'];
      const second = Number(event.lastEventId);
      if (second > (this.newestByTopic.get(topic) ?? -1)) this.newestByTopic.set(topic, second);
    }
    if (name === 'hello') this.options.onState({ phase: 'live' });
    this.options.onFrame(name, data);
  }

  private handleLoss(): void {
    this.close();
    this.lostSince ||= consoleNow();
    const delay = BACKOFF_MS[Math.min(this.attempt, BACKOFF_MS.length - 1)] ?? 8_000;
    this.attempt += 1;
    this.options.onState({
      phase: 'lost',
      since: this.lostSince,
      attempt: this.attempt,
      retryAt: consoleNow() + delay,
    });
    this.retry = setTimeout(() => this.open(), delay);
  }

  private watch(): void {
    clearTimeout(this.watchdog);
    this.watchdog = setTimeout(() => this.handleLoss(), IDLE_TIMEOUT_MS);
  }

  private close(): void {
    clearTimeout(this.watchdog);
    clearTimeout(this.retry);
    this.source?.close();
    this.source = null;
  }
}
