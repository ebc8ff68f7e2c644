/**
 * The time axis all charts share: follows the stream while live, stands still while paused, and
 * shows a fixed window while zoomed. Range and window live in the address.
 */
import { chooseStep, intervalCount, intervalStart } from '@/lib/resolution';
import { createStore } from '@/lib/store';
import { EARLIEST, WIDEST } from '@/lib/timeWindow';
import type { Live } from '@/live/live';
import type { TimeAxis } from '@/ui/chart/types';
import { DEFAULT_RANGE, type FrameSearch } from './search';

type Place = Pick<FrameSearch, 'from' | 'to' | 'res'>;
type Navigate = (search: Place) => void;

interface Window {
  from: number;
  to: number;
}

/** Up to here a range comes second by second with the stream. */
const STREAMED = 900;
const EVERYTHING: Place = { from: undefined, to: undefined, res: undefined };

export class PageTimeAxis implements TimeAxis {
  /** False while paused or zoomed. */
  readonly live = createStore(true);
  private range: number = DEFAULT_RANGE;
  private frozen: number | null = null;
  private zoomed: Window | null = null;
  private wantedStep: number | undefined;
  private points = 1_000;
  /** Windows to go back to, the latest last. */
  private readonly trail: Window[] = [];
  private readonly listeners = new Set<() => void>();

  constructor(
    private readonly source: Pick<Live, 'edge'>,
    private readonly navigate: Navigate,
  ) {}

  window(): Window {
    if (this.zoomed) return this.zoomed;
    const now = this.frozen ?? this.source.edge();
    if (this.range <= STREAMED) return { from: now - this.range, to: now };
    // Moves in whole intervals: between two of them there is nothing new to draw.
    const step = chooseStep(now - this.range, now, this.points, now);
    const to = intervalStart(now, step) + step;
    return { from: to - this.range, to };
  }

  step(): number {
    const { from, to } = this.window();
    const { wantedStep, points } = this;
    // A link brings its resolution along, unless that would be more than anybody can see.
    if (wantedStep && intervalCount(from, to, wantedStep) <= 4 * points) return wantedStep;
    return chooseStep(from, to, points, this.source.edge());
  }

  /** How many points a chart can show, from the width of the page. */
  fit(width: number): void {
    const points = Math.min(2_000, Math.max(800, Math.ceil(width / 400) * 400));
    if (points === this.points) return;
    this.points = points;
    this.changed();
  }

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  zoom(from: number, to: number): void {
    // Charts are synced: one drag may be told by several of them.
    if (this.zoomed && this.trail.at(-1) !== this.zoomed) this.trail.push(this.zoomed);
    this.navigate({ from: Math.max(from, EARLIEST, to - WIDEST), to, res: undefined });
  }

  reset(): void {
    const before = this.trail.pop();
    this.navigate(before ? { ...before, res: undefined } : EVERYTHING);
  }

  /** Moves the window by a part of its width; the future cannot be shown. */
  shift(part: number): void {
    const { from, to } = this.window();
    const step = Math.round((to - from) * part);
    const last = Math.min(to + step, Math.max(to, this.source.edge()));
    this.navigate({ from: last - (to - from), to: last, res: this.wantedStep });
  }

  toggleLive(): void {
    if (this.zoomed) {
      this.frozen = null;
      this.trail.length = 0;
      this.navigate(EVERYTHING);
    } else {
      this.frozen = this.frozen === null ? this.source.edge() : null;
    }
    this.changed();
  }

  link(step: number): string {
    const { from, to } = this.window();
    const url = new URL(location.href);
    for (const [name, value] of Object.entries({ from, to, res: step })) {
      url.searchParams.set(name, String(value));
    }
    url.hash = '';
    return url.href;
  }

  /** The address changed. */
  follow(search: FrameSearch): void {
    this.range = search.range ?? DEFAULT_RANGE;
    const { from, to, res } = search;
    this.zoomed = from !== undefined && to !== undefined ? { from, to } : null;
    this.wantedStep = this.zoomed ? res : undefined;
    if (!this.zoomed) this.trail.length = 0;
    this.changed();
  }

  private changed(): void {
    this.live.set(this.frozen === null && this.zoomed === null);
    for (const listener of this.listeners) listener();
  }
}
