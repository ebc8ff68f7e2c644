/** Time axis for the page of one incident or benchmark run. It shows the interval of the object until the user zooms. */
import type { TimeAxis } from './types';

interface Window {
  from: number;
  to: number;
}

export class SpanAxis implements TimeAxis {
  private zoomed: Window | null = null;
  private readonly listeners = new Set<() => void>();

  /** `interval` is in epoch seconds and can grow (`follow`). */
  constructor(private interval: Window) {}

  window(): Window {
    return this.zoomed ?? this.interval;
  }

  subscribe(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  zoom(from: number, to: number): void {
    this.zoomed = { from, to };
    this.changed();
  }

  reset(): void {
    this.zoomed = null;
    this.changed();
  }

  follow(interval: Window): void {
    const { from, to } = this.interval;
    if (interval.from === from && interval.to === to) return;
    this.interval = interval;
    if (!this.zoomed) this.changed();
  }

  private changed(): void {
    for (const listener of this.listeners) listener();
  }
}

/** Return an interval in integer seconds with some context before and after. */
export function intervalOf(fromMs: number, toMs: number): Window {
  const margin = Math.max(10, ((toMs - fromMs) / 1000) * 0.15);
  return { from: Math.floor(fromMs / 1000 - margin), to: Math.ceil(toMs / 1000 + margin) };
}
