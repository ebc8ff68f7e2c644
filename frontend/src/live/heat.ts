/**
 * Latency histograms over time, for heat maps: read from the store once, and then only what is new or may have been
 * incomplete. While nobody looks, nothing is asked.
 */
import type { LatencyHistory } from '@/api/history';
import { messageOf } from '@/api/http';
import { intervalEnd, intervalStart } from '@/lib/resolution';
import { isDrawable } from '@/lib/timeWindow';
import type { Heat, HeatColumn } from '@/ui/chart/heat/types';

export interface HeatWanted {
  from: number;
  to: number;
  /** Columns and rows as they were told before. */
  step?: number;
  perDecade?: number;
}

interface Window {
  from: number;
  to: number;
}

interface Known extends Window {
  step: number;
  perDecade: number;
  columns: ReadonlyMap<number, HeatColumn>;
}

/** Below this width columns are made of single seconds, which come within a moment. */
const FINE = 10;
/** How late what columns are made of may be stored, by the width of columns. */
const LATE = { fine: 5, coarse: 75 };
const AGAIN_MS = 5_000;

export const toColumns = (reply: LatencyHistory): Map<number, HeatColumn> =>
  new Map(
    reply.columns.map(([row = 0, ...counts], index) => [
      reply.from + index * reply.step,
      { seconds: reply.seconds[index] ?? 0, row: reply.lowest + row, counts },
    ]),
  );

/** How often to ask for what is new: as often as there may be a difference to see. */
export const pauseMs = (step: number): number => Math.min(30, Math.max(2, step / 2)) * 1_000;

/** `older` continued by `newer`; what began before `from` is forgotten. */
export function joined(
  older: ReadonlyMap<number, HeatColumn>,
  newer: ReadonlyMap<number, HeatColumn>,
  from: number,
): Map<number, HeatColumn> {
  return new Map([...older, ...newer].filter(([at]) => at >= from));
}

export class HeatPast {
  /** Why it could not be read. */
  reason: string | undefined;
  private known: Known | null = null;
  private length = 0;
  /** Of the request on its way. */
  private asking: AbortController | null = null;
  private quietUntil = 0;

  constructor(
    private readonly fetch: (wanted: HeatWanted, signal: AbortSignal) => Promise<LatencyHistory>,
    /** Milliseconds, as the console's clock has them. */
    private readonly now: () => number,
    private readonly changed: () => void,
  ) {}

  get pending(): boolean {
    return !this.known && !this.reason;
  }

  read(from: number, to: number): Heat {
    const { known } = this;
    if (!known || !isDrawable(from, to, known.step))
      return { from, step: Math.max(1, to - from), perDecade: 20, columns: [undefined] };
    const { step, perDecade } = known;
    const first = intervalStart(from, step);
    const count = Math.max(0, (intervalEnd(to, step) - first) / step);
    const settled = this.now() / 1_000 - (step < FINE ? LATE.fine : Math.min(step, LATE.coarse));
    const columns = Array.from({ length: count }, (_, index) => {
      const at = first + index * step;
      const column = known.columns.get(at);
      // What nobody has told yet is not a gap before it is late.
      return column?.seconds || at + step <= settled ? column : undefined;
    });
    return { from: first, step, perDecade, columns };
  }

  /** Sees to it that [from, to] becomes known and stays up to date; cheap when it already is. */
  want(window: Window): void {
    const wanted = this.due(window);
    if (wanted) void this.load(wanted, window);
  }

  /** What has to be asked now to know [from, to]; null when that is nothing. */
  due({ from, to }: Window): HeatWanted | null {
    const { known } = this;
    const now = this.now();
    if (this.asking) return null;
    if (!known || to - from !== this.length || from < known.from || from > known.to) {
      return known || now >= this.quietUntil ? { from, to } : null;
    }
    const { step, perDecade } = known;
    const isOpen = Math.max(known.to, to) > now / 1_000 - step - LATE.coarse;
    if (now < this.quietUntil || (to <= known.to && !isOpen)) return null;
    const late = step < FINE ? LATE.fine + step : LATE.coarse + 2 * step;
    const begin = intervalStart(Math.max(known.from, known.to - late), step);
    return { from: begin, to: Math.max(to, begin + 1), step, perDecade };
  }

  /** Nobody waits any more for what is asked just now. */
  leave(): void {
    this.asking?.abort();
    this.asking = null;
  }

  private async load(wanted: HeatWanted, window: Window): Promise<void> {
    const asking = new AbortController();
    this.asking = asking;
    try {
      const reply = await this.fetch(wanted, asking.signal);
      if (asking.signal.aborted) return;
      const older = wanted.step && this.known ? this.known.columns : new Map();
      const { step, per_decade: perDecade } = reply;
      const columns = joined(older, toColumns(reply), intervalStart(window.from, step));
      this.known = { ...window, step, perDecade, columns };
      this.length = window.to - window.from;
      this.reason = undefined;
      this.quietUntil = this.now() + pauseMs(step);
    } catch (error) {
      if (asking.signal.aborted) return;
      if (!this.known) this.reason = `The stored history could not be read: ${messageOf(error)}`;
      this.quietUntil = this.now() + AGAIN_MS;
    }
    this.asking = null;
    this.changed();
  }
}
