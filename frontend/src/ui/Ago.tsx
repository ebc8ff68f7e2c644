/** "12 s ago", with the instant on hover; all of them share one clock, and are drawn anew when their words change. */
import { useCallback, useSyncExternalStore } from 'react';
import { createStore } from '@/lib/store';
import { ago, correctedNow, duration, stamp } from '@/lib/time';
import { Dash } from './Dash';
import { useZone } from './zone';

const clock = createStore(correctedNow());
let users = 0;
let timer: ReturnType<typeof setInterval> | undefined;

function subscribe(listener: () => void): () => void {
  const tick = () => clock.set(correctedNow());
  if (users++ === 0) {
    tick(); // it stood still while nobody looked
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

/** What follows from the time of day: told again only when it is something else. */
function useOfNow<T extends string>(of: (now: number) => T): T {
  return useSyncExternalStore(
    subscribe,
    useCallback(() => of(clock.get()), [of]),
  );
}

export function Ago({ time }: { time: string | number | undefined }) {
  const zone = useZone();
  const ms = typeof time === 'number' ? time : Date.parse(time ?? '');
  const words = useOfNow(useCallback((now: number) => ago(ms, Math.max(now, ms)), [ms]));
  if (Number.isNaN(ms)) return <Dash why="Never, or not known" />;
  return (
    <time className="num" dateTime={new Date(ms).toISOString()} title={stamp(ms, zone)}>
      {words}
    </time>
  );
}

interface ElapsedProps {
  since: number;
  /** Inside of what is read aloud when it changes, or it would be read every second. */
  unspoken?: boolean;
}

export function Elapsed({ since, unspoken }: ElapsedProps) {
  const lasted = useOfNow(
    useCallback((now: number) => duration((Math.max(now, since) - since) / 1000), [since]),
  );
  return (
    <span className="num" aria-hidden={unspoken}>
      {lasted}
    </span>
  );
}

/** " for 12 s", after what a thing is; nothing while it is not known since when. */
export function Lasting({ since }: { since: string | undefined }) {
  const ms = Date.parse(since ?? '');
  if (Number.isNaN(ms)) return null;
  return (
    <>
      {' for '}
      <Elapsed since={ms} unspoken />
    </>
  );
}

export function Stamp({ time }: { time: string | undefined }) {
  const zone = useZone();
  const ms = Date.parse(time ?? '');
  if (Number.isNaN(ms)) return <Dash why="Not known" />;
  return (
    <time className="num" dateTime={time}>
      {stamp(ms, zone)}
    </time>
  );
}
