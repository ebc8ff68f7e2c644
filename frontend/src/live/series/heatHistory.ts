/**
 * Latency histograms over time, for heat maps. They are read from the store once. Afterwards, only
 * columns that are new or may have been incomplete are read, and only while a chart is subscribed.
 */

import { messageOf } from '@/api/http';
import type { LatencyHistory } from '@/api/metrics/history';
import { intervalEnd, intervalStart } from '@/lib/resolution';
import { isDrawable } from '@/lib/timeWindow';
import type { Heat, HeatColumn } from '@/ui/chart/heat/types';

export interface HeatRequest {
  from: number;
  to: number;
  /** Grid of earlier replies, so that columns can be appended. */
  step?: number;
  perDecade?: number;
}

interface Window {
  from: number;
  to: number;
}

interface LoadedHeat extends Window {
  step: number;
  perDecade: number;
  columns: ReadonlyMap<number, HeatColumn>;
}

/** Below this width in seconds, columns are based on single seconds, which are stored almost immediately. */
const FINE_BELOW = 10;
/** Maximum delay until data is stored, in seconds, by the width of columns. */
const STORE_DELAY = { fine: 5, coarse: 75 };
const RETRY_MS = 5_000;

export const toHeatColumns = (reply: LatencyHistory): Map<number, HeatColumn> =>
  new Map(
    reply.columns.map(([row = 0, ...counts], index) => [
      reply.from + index * reply.step,
      { seconds: reply.seconds[index] ?? 0, row: reply.lowest + row, counts },
    ]),
  );

/**
 * Return the interval between reads in milliseconds. Wider columns change less visibly and are read
 * less often.
 */
export const readIntervalMs = (step: number): number => Math.min(30, Math.max(2, step / 2)) * 1_000;

/** Append `newer` to `older` and remove columns before `from`. */
export function appendHeatColumns(
  older: ReadonlyMap<number, HeatColumn>,
  newer: ReadonlyMap<number, HeatColumn>,
  from: number,
): Map<number, HeatColumn> {
  return new Map([...older, ...newer].filter(([at]) => at >= from));
}

export class HeatHistory {
  /** Why the data could not be read. */
  reason: string | undefined;
  private loaded: LoadedHeat | null = null;
  private length = 0;
  /** Controller of the running request. */
  private request: AbortController | null = null;
  private nextReadAt = 0;

  constructor(
    private readonly fetch: (request: HeatRequest, signal: AbortSignal) => Promise<LatencyHistory>,
    /** Current time in milliseconds of the console's clock. */
    private readonly now: () => number,
    private readonly changed: () => void,
  ) {}

  get pending(): boolean {
    return !this.loaded && !this.reason;
  }

  read(from: number, to: number): Heat {
    const { loaded } = this;
    if (!loaded || !isDrawable(from, to, loaded.step))
      return { from, step: Math.max(1, to - from), perDecade: 20, columns: [undefined] };
    const { step, perDecade } = loaded;
    const first = intervalStart(from, step);
    const count = Math.max(0, (intervalEnd(to, step) - first) / step);
    const completeUntil =
      this.now() / 1_000 -
      (step < FINE_BELOW ? STORE_DELAY.fine : Math.min(step, STORE_DELAY.coarse));
    const columns = Array.from({ length: count }, (_, index) => {
      const at = first + index * step;
      const column = loaded.columns.get(at);
      // Missing data is a gap only after the maximum delay of the store.
      return column?.seconds || at + step <= completeUntil ? column : undefined;
    });
    return { from: first, step, perDecade, columns };
  }

  /** Read [from, to] if it is not up to date. Inexpensive if it is. */
  ensureRange(window: Window): void {
    const request = this.dueRequest(window);
    if (request) void this.load(request, window);
  }

  /** Return the request that is required for [from, to]; null if none is required now. */
  dueRequest({ from, to }: Window): HeatRequest | null {
    const { loaded } = this;
    const now = this.now();
    if (this.request) return null;
    if (!loaded || to - from !== this.length || from < loaded.from || from > loaded.to) {
      return loaded || now >= this.nextReadAt ? { from, to } : null;
    }
    const { step, perDecade } = loaded;
    const isOpen = Math.max(loaded.to, to) > now / 1_000 - step - STORE_DELAY.coarse;
    if (now < this.nextReadAt || (to <= loaded.to && !isOpen)) return null;
    const delay = step < FINE_BELOW ? STORE_DELAY.fine + step : STORE_DELAY.coarse + 2 * step;
    const start = intervalStart(Math.max(loaded.from, loaded.to - delay), step);
    return { from: start, to: Math.max(to, start + 1), step, perDecade };
  }

  /** Cancel the running request, because no chart is subscribed. */
  cancel(): void {
    this.request?.abort();
    this.request = null;
  }

  private async load(request: HeatRequest, window: Window): Promise<void> {
    const controller = new AbortController();
    this.request = controller;
    try {
      const reply = await this.fetch(request, controller.signal);
      if (controller.signal.aborted) return;
      const older = request.step && this.loaded ? this.loaded.columns : new Map();
      const { step, per_decade: perDecade } = reply;
      const columns = appendHeatColumns(
        older,
        toHeatColumns(reply),
        intervalStart(window.from, step),
      );
      this.loaded = { ...window, step, perDecade, columns };
      this.length = window.to - window.from;
      this.reason = undefined;
      this.nextReadAt = this.now() + readIntervalMs(step);
    } catch (error) {
      if (controller.signal.aborted) return;
      if (!this.loaded) this.reason = `The stored history could not be loaded: ${messageOf(error)}`;
      this.nextReadAt = this.now() + RETRY_MS;
    }
    this.request = null;
    this.changed();
  }
}
