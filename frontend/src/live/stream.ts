/**
 * One EventSource for the whole page. It is closed and opened again by us, not by the browser,
 * so that the topics can change, a silent connection counts as lost, and the reader can be told
 * when the next attempt is due. What was missed is asked for by `after`.
 */
import { correctedNow } from '@/lib/time';
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
  /** The newest second that this page holds of each topic. */
  private held = new Map<string, number>();
  private lostSince = 0;
  private attempt = 0;
  private watchdog: ReturnType<typeof setTimeout> | undefined;
  private retry: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly options: StreamOptions) {}

  follow(topics: readonly string[]): void {
    const next = [...new Set(topics)].sort();
    if (this.source && next.join() === this.topics.join()) return;
    this.topics = next;
    for (const topic of this.held.keys()) if (!next.includes(topic)) this.held.delete(topic);
    this.open();
  }

  retryNow(): void {
    if (this.topics.length) this.open();
  }

  stop(): void {
    this.close();
    this.topics = [];
    this.held.clear();
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
    const held = this.topics.flatMap((topic) => {
      const second = this.held.get(topic);
      return second ? [`${topic}@${second}`] : [];
    });
    if (held.length) query.set('since', held.join(','));
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
        this.received(name, event);
      });
    }
    source.onerror = () => {
      if (source === this.source) this.lose();
    };
    this.watch();
  }

  private received<N extends FrameName>(name: N, event: MessageEvent<string>): void {
    this.watch();
    this.attempt = 0;
    this.lostSince = 0;
    let data: Frames[N];
    try {
      data = JSON.parse(event.data || '{}');
    } catch {
      // Half a frame: what follows cannot be trusted either.
      this.lose();
      return;
    }
    if (name === 'history' || name === 'sample') {
      const { topic } = data as Frames['history' | 'sample'];
      const second = Number(event.lastEventId);
      if (second > (this.held.get(topic) ?? -1)) this.held.set(topic, second);
    }
    if (name === 'hello') this.options.onState({ phase: 'live' });
    this.options.onFrame(name, data);
  }

  private lose(): void {
    this.close();
    this.lostSince ||= correctedNow();
    const delay = BACKOFF_MS[Math.min(this.attempt, BACKOFF_MS.length - 1)] ?? 8_000;
    this.attempt += 1;
    this.options.onState({
      phase: 'lost',
      since: this.lostSince,
      attempt: this.attempt,
      retryAt: correctedNow() + delay,
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
