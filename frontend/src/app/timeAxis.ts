/**
 * Time axis that all charts share: it follows the stream while live, does not move while paused, and
 * shows a fixed window while zoomed. Range and window are stored in the address.
 */
import { chooseStep, intervalCount, intervalStart } from '@/lib/resolution';
import { createStore } from '@/lib/store';
import { consoleNow } from '@/lib/time';
import { EARLIEST, MAX_WINDOW_S } from '@/lib/timeWindow';
import type { Live } from '@/live/live';
import type { TimeAxis } from '@/ui/chart/types';
import { DEFAULT_RANGE, type FrameSearch } from './search';

type WindowSearch = Pick<FrameSearch, 'from' | 'to' | 'res'>;
type Navigate = (search: WindowSearch) => void;

interface Window {
  from: number;
  to: number;
}

/** Longest range in seconds that the stream provides with every second. */
const LIVE_RANGE_MAX = 900;
const NO_ZOOM: WindowSearch = { from: undefined, to: undefined, res: undefined };

export class PageTimeAxis implements TimeAxis {
  /** False while paused or zoomed. */
  readonly live = createStore(true);
  private range: number = DEFAULT_RANGE;
  private frozen: number | null = null;
  /** Epoch seconds. Samples arrive later than events, so the window ends before this time. */
  private pausedAt = 0;
  private zoomed: Window | null = null;
  private requestedStep: number | undefined;
  private points = 1_000;
  /** Earlier zoom windows, the latest last. */
  private readonly zoomHistory: Window[] = [];
  private readonly listeners = new Set<() => void>();

  constructor(
    private readonly source: Pick<Live, 'edge'>,
    private readonly navigate: Navigate,
  ) {}

  window(): Window {
    if (this.zoomed) return this.zoomed;
    const now = this.frozen ?? this.source.edge();
    if (this.range <= LIVE_RANGE_MAX) return { from: now - this.range, to: now };
    // Move in complete intervals, because there is no new data between them.
    const step = chooseStep(now - this.range, now, this.points, now);
    const to = intervalStart(now, step) + step;
    return { from: to - this.range, to };
  }

  /** Return the time up to which to show events: the end of a zoomed window, or the time of the pause; undefined while live. */
  eventsUntil(): number | undefined {
    if (this.zoomed) return this.zoomed.to;
    return this.frozen === null ? undefined : this.pausedAt;
  }

  step(): number {
    const { from, to } = this.window();
    const { requestedStep, points } = this;
    // Use the resolution of the link unless it has far more points than the chart can show.
    if (requestedStep && intervalCount(from, to, requestedStep) <= 4 * points) return requestedStep;
    return chooseStep(from, to, points, this.source.edge());
  }

  /** Set the number of points of a chart from the width of the page. */
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
    // Charts are synchronized, so several of them can report the same drag.
    if (this.zoomed && this.zoomHistory.at(-1) !== this.zoomed) this.zoomHistory.push(this.zoomed);
    this.navigate({ from: Math.max(from, EARLIEST, to - MAX_WINDOW_S), to, res: undefined });
  }

  reset(): void {
    const previous = this.zoomHistory.pop();
    this.navigate(previous ? { ...previous, res: undefined } : NO_ZOOM);
  }

  /** Move the window by a fraction of its width, but not into the future. */
  shift(part: number): void {
    const { from, to } = this.window();
    const step = Math.round((to - from) * part);
    const last = Math.min(to + step, Math.max(to, this.source.edge()));
    this.navigate({ from: last - (to - from), to: last, res: this.requestedStep });
  }

  toggleLive(): void {
    if (this.zoomed) {
      this.frozen = null;
      this.zoomHistory.length = 0;
      this.navigate(NO_ZOOM);
    } else {
      this.frozen = this.frozen === null ? this.source.edge() : null;
      this.pausedAt = consoleNow() / 1000;
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

  /** Apply the parameters of a changed address. */
  applySearch(search: FrameSearch): void {
    this.range = search.range ?? DEFAULT_RANGE;
    const { from, to, res } = search;
    this.zoomed = from !== undefined && to !== undefined ? { from, to } : null;
    this.requestedStep = this.zoomed ? res : undefined;
    if (!this.zoomed) this.zoomHistory.length = 0;
    this.changed();
  }

  private changed(): void {
    this.live.set(this.frozen === null && this.zoomed === null);
    for (const listener of this.listeners) listener();
  }
}
