/**
 * One EventSource for the whole page. It is closed and opened again by us, not by the browser,
 * so that the topics can change, a silent connection counts as lost, and the reader can be told
 * when the next attempt is due. What was missed is asked for by `after`.
 */
import { FRAME_NAMES, type FrameName, type Frames } from './frames';

export type StreamState =
  | { phase: 'idle' }
  | { phase: 'connecting' }
  | { phase: 'live' }
  | { phase: 'lost'; since: number; attempt: number; retryAt: number };

/** The part of EventSource that is used; tests bring their own. */
export interface Source {
  addEventListener(name: string, listener: (event: MessageEvent<string>) => void): void;
  onerror: ((event: Event) => void) | null;
  close(): void;
}

export interface StreamOptions {
  open: (url: string) => Source;
  onFrame: <N extends FrameName>(name: N, data: Frames[N]) => void;
  onState: (state: StreamState) => void;
  /** Seconds of history wanted for topics that are new. */
  history: () => number;
}

export const SILENCE_MS = 10_000;
const BACKOFF_MS = [500, 1_000, 2_000, 4_000, 8_000];

export class LiveStream {
  private source: Source | null = null;
  private topics: string[] = [];
  /** Topics whose history this page already holds up to `newest`. */
  private held = new Set<string>();
  private newest = 0;
  private lostSince = 0;
  private attempt = 0;
  private watchdog: ReturnType<typeof setTimeout> | undefined;
  private retry: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly options: StreamOptions) {}

  follow(topics: readonly string[]): void {
    const next = [...new Set(topics)].sort();
    if (this.source && next.join() === this.topics.join()) return;
    this.topics = next;
    this.open();
  }

  retryNow(): void {
    if (this.topics.length) this.open();
  }

  stop(): void {
    this.close();
    this.topics = [];
    this.held.clear();
    this.newest = 0;
    this.attempt = 0;
    this.lostSince = 0;
    this.options.onState({ phase: 'idle' });
  }

  /** Lets the connection go while nobody looks; `follow` brings back what was missed. */
  pause(): void {
    this.close();
    this.options.onState({ phase: 'idle' });
  }

  private url(): string {
    const query = new URLSearchParams({ topics: this.topics.join(',') });
    // `after` covers all topics alike, so it may be used only when none of them is new.
    const resumes = this.newest > 0 && this.topics.every((topic) => this.held.has(topic));
    if (resumes) query.set('after', String(this.newest));
    else query.set('history', String(this.options.history()));
    return `/v1/stream?${query}`;
  }

  private open(): void {
    this.close();
    if (!this.lostSince) this.options.onState({ phase: 'connecting' });
    const source = this.options.open(this.url());
    this.source = source;
    const topics = new Set(this.topics);
    for (const name of FRAME_NAMES) {
      source.addEventListener(name, (event) => {
        if (source !== this.source) return;
        this.received(name, event, topics);
      });
    }
    source.onerror = () => {
      if (source === this.source) this.lose();
    };
    this.watch();
  }

  private received(name: FrameName, event: MessageEvent<string>, topics: Set<string>): void {
    this.watch();
    this.attempt = 0;
    this.lostSince = 0;
    const second = Number(event.lastEventId);
    if (second > this.newest) this.newest = second;
    const data = JSON.parse(event.data || '{}');
    if (name === 'history') this.held.add(data.topic);
    if (name === 'hello') {
      for (const topic of this.held) if (!topics.has(topic)) this.held.delete(topic);
      this.options.onState({ phase: 'live' });
    }
    this.options.onFrame(name, data);
  }

  private lose(): void {
    this.close();
    this.lostSince ||= Date.now();
    const delay = BACKOFF_MS[Math.min(this.attempt, BACKOFF_MS.length - 1)] ?? 8_000;
    this.attempt += 1;
    this.options.onState({
      phase: 'lost',
      since: this.lostSince,
      attempt: this.attempt,
      retryAt: Date.now() + delay,
    });
    this.retry = setTimeout(() => this.open(), delay);
  }

  private watch(): void {
    clearTimeout(this.watchdog);
    this.watchdog = setTimeout(() => this.lose(), SILENCE_MS);
  }

  private close(): void {
    clearTimeout(this.watchdog);
    clearTimeout(this.retry);
    this.source?.close();
    this.source = null;
  }
}
