/**
 * The time axis all charts share: follows the stream while live, stands still while paused, and
 * shows a fixed window while zoomed. Range and zoom live in the address.
 */
import { createStore } from '@/lib/store';
import type { Live } from '@/live/live';
import type { TimeAxis } from '@/ui/chart/types';
import { DEFAULT_RANGE, type FrameSearch } from './search';

type Navigate = (search: Pick<FrameSearch, 'from' | 'to'>) => void;

export class PageTimeAxis implements TimeAxis {
  /** False while paused or zoomed. */
  readonly live = createStore(true);
  private range: number = DEFAULT_RANGE;
  private frozen: number | null = null;
  private zoomed: { from: number; to: number } | null = null;
  private readonly listeners = new Set<() => void>();

  constructor(
    private readonly source: Live,
    private readonly navigate: Navigate,
  ) {}

  window(): { from: number; to: number } {
    if (this.zoomed) return this.zoomed;
    const to = this.frozen ?? this.source.edge();
    return { from: to - this.range, to };
  }

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  zoom(from: number, to: number): void {
    this.navigate({ from, to });
  }

  reset(): void {
    this.navigate({ from: undefined, to: undefined });
  }

  /** Moves the window by a part of its width; the future cannot be shown. */
  shift(part: number): void {
    const { from, to } = this.window();
    const step = Math.round((to - from) * part);
    const last = Math.min(to + step, this.source.edge());
    this.zoom(last - (to - from), last);
  }

  toggleLive(): void {
    if (this.zoomed) {
      this.frozen = null;
      this.reset();
    } else {
      this.frozen = this.frozen === null ? this.source.edge() : null;
    }
    this.changed();
  }

  /** The address changed. */
  follow(search: FrameSearch): void {
    this.range = search.range ?? DEFAULT_RANGE;
    const { from, to } = search;
    this.zoomed = from !== undefined && to !== undefined ? { from, to } : null;
    this.changed();
  }

  private changed(): void {
    this.live.set(this.frozen === null && this.zoomed === null);
    for (const listener of this.listeners) listener();
  }
}
