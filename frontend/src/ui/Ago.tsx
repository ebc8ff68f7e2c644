/** "12 s ago", with the instant on hover; all of them share one clock. */
import { useSyncExternalStore } from 'react';
import { createStore } from '@/lib/store';
import { ago, duration, stamp } from '@/lib/time';
import { useZone } from './zone';

const clock = createStore(Date.now());
let users = 0;
let timer: ReturnType<typeof setInterval> | undefined;

function subscribe(listener: () => void): () => void {
  if (users++ === 0) timer = setInterval(() => clock.set(Date.now()), 1000);
  const stop = clock.subscribe(listener);
  return () => {
    stop();
    if (--users === 0) clearInterval(timer);
  };
}

export function useNow(): number {
  return useSyncExternalStore(subscribe, clock.get);
}

export function Ago({ time }: { time: string | number | undefined }) {
  const now = useNow();
  const zone = useZone();
  const ms = typeof time === 'number' ? time : Date.parse(time ?? '');
  if (Number.isNaN(ms)) return <span title="Not known">–</span>;
  return (
    <time className="num" dateTime={new Date(ms).toISOString()} title={stamp(ms, zone)}>
      {ago(ms, Math.max(now, ms))}
    </time>
  );
}

export function Elapsed({ since }: { since: number }) {
  const now = useNow();
  return <span className="num">{duration((Math.max(now, since) - since) / 1000)}</span>;
}

export function Stamp({ time }: { time: string | undefined }) {
  const zone = useZone();
  const ms = Date.parse(time ?? '');
  if (Number.isNaN(ms)) return <span title="Not known">–</span>;
  return (
    <time className="num" dateTime={time}>
      {stamp(ms, zone)}
    </time>
  );
}
