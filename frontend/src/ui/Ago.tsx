/** Relative times such as "12 s ago", with the instant on hover. All share one clock, and each renders only when its text changes. */
import { useCallback, useSyncExternalStore } from 'react';
import { createStore } from '@/lib/store';
import { ago, consoleNow, duration, formatDateTime } from '@/lib/time';
import { Dash } from './Dash';
import { useZone } from './useZone';

const clock = createStore(consoleNow());
let users = 0;
let timer: ReturnType<typeof setInterval> | undefined;

function subscribe(listener: () => void): () => void {
  const tick = () => clock.set(consoleNow());
  if (users++ === 0) {
    tick(); // The clock was stopped without subscribers.
    timer = setInterval(tick, 1000);
  }
  const stop = clock.subscribe(listener);
  return () => {
    stop();
    if (--users === 0) clearInterval(timer);
  };
}

export function useNow(): number {
  return useSyncExternalStore(subscribe, clock.get);
}

/** Return a value that depends on the current time. Renders only when the value changes. */
export function useTimeText<T extends string>(of: (now: number) => T): T {
  return useSyncExternalStore(
    subscribe,
    useCallback(() => of(clock.get()), [of]),
  );
}

export function Ago({ time }: { time: string | number | undefined }) {
  const zone = useZone();
  const ms = typeof time === 'number' ? time : Date.parse(time ?? '');
  const text = useTimeText(useCallback((now: number) => ago(ms, Math.max(now, ms)), [ms]));
  if (Number.isNaN(ms)) return <Dash reason="Never, or unknown" />;
  return (
    <time className="num" dateTime={new Date(ms).toISOString()} title={formatDateTime(ms, zone)}>
      {text}
    </time>
  );
}

interface ElapsedProps {
  since: number;
  /** Hide from screen readers. Required in live regions, which would otherwise be read every second. */
  hiddenFromScreenReaders?: boolean;
}

export function Elapsed({ since, hiddenFromScreenReaders }: ElapsedProps) {
  const text = useTimeText(
    useCallback((now: number) => duration((Math.max(now, since) - since) / 1000), [since]),
  );
  return (
    <span className="num" aria-hidden={hiddenFromScreenReaders}>
      {text}
    </span>
  );
}

/** " for 12 s" after a state; nothing if the start is unknown. */
export function DurationSince({ since }: { since: string | undefined }) {
  const ms = Date.parse(since ?? '');
  if (Number.isNaN(ms)) return null;
  return (
    <>
      {' for '}
      <Elapsed since={ms} hiddenFromScreenReaders />
    </>
  );
}

export function Stamp({ time }: { time: string | undefined }) {
  const zone = useZone();
  const ms = Date.parse(time ?? '');
  if (Number.isNaN(ms)) return <Dash reason="Unknown" />;
  return (
    <time className="num" dateTime={time}>
      {formatDateTime(ms, zone)}
    </time>
  );
}
