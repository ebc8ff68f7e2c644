// @dom
import { QueryClient } from '@tanstack/react-query';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { LATE_MS } from './freshness';
import { Live } from './live';

type Listener = (event: { data: string; lastEventId: string }) => void;

class FakeSource {
  static newest: FakeSource;
  onerror: (() => void) | null = null;
  readonly listeners = new Map<string, Listener>();

  constructor(readonly url: string) {
    FakeSource.newest = this;
  }
  addEventListener(name: string, listener: Listener): void {
    this.listeners.set(name, listener);
  }
  close(): void {}
  emit(name: string, data: unknown): void {
    this.listeners.get(name)?.({ data: JSON.stringify(data), lastEventId: '' });
  }
}

const emitSample = () => {
  const at = Date.now();
  FakeSource.newest.emit('sample', { topic: 'cluster', t: Math.floor(at / 1000), at, series: {} });
  vi.advanceTimersByTime(20); // one animation frame
};

describe('Live', () => {
  let live: Live;

  beforeEach(() => {
    vi.useFakeTimers();
    vi.stubGlobal('EventSource', FakeSource);
    vi.stubGlobal('fetch', () => Promise.reject(new TypeError('unavailable')));
    vi.spyOn(console, 'error').mockImplementation(() => undefined);
    live = new Live(new QueryClient());
    live.start();
    vi.advanceTimersByTime(50);
    FakeSource.newest.emit('hello', { server_time: Date.now() });
  });
  afterEach(() => {
    live.stop();
    vi.useRealTimers();
    vi.unstubAllGlobals();
    vi.restoreAllMocks();
  });

  it('notifies all listeners even if one throws, reports the error, and recovers', () => {
    let broken = true;
    const listener = vi.fn();
    live.onTick(() => {
      if (broken) throw new Error('a chart broke');
    });
    live.onTick(listener);
    emitSample();
    emitSample();
    expect(listener).toHaveBeenCalledTimes(2);
    expect(live.drawError.get()).toBe('a chart broke');
    broken = false;
    emitSample();
    expect(listener).toHaveBeenCalledTimes(3);
    expect(live.drawError.get()).toBeNull();
  });

  it('is fresh with samples, late with heartbeats only, and lost without a connection', () => {
    expect(live.freshness.get()).toBe('waiting');
    emitSample();
    expect(live.freshness.get()).toBe('fresh');
    vi.advanceTimersByTime(LATE_MS + 1_500);
    FakeSource.newest.emit('beat', {});
    expect(live.freshness.get()).toBe('late');
    emitSample();
    expect(live.freshness.get()).toBe('fresh');
    FakeSource.newest.onerror?.();
    expect(live.freshness.get()).toBe('lost');
  });

  it('treats an incomplete frame as a lost stream', () => {
    FakeSource.newest.listeners.get('sample')?.({ data: '{"topic":', lastEventId: '' });
    expect(live.state.get().phase).toBe('lost');
  });
});
