/** React context of the `Live` object, which runs while a user is signed in, and hooks for its data. */
import { useQueryClient } from '@tanstack/react-query';
import {
  createContext,
  type ReactNode,
  useContext,
  useEffect,
  useState,
  useSyncExternalStore,
} from 'react';
import type { Freshness } from './freshness';
import { Live } from './live';
import type { StreamState } from './stream/stream';

const LiveContext = createContext<Live | null>(null);

export function LiveProvider({ children }: { children: ReactNode }) {
  const client = useQueryClient();
  const [live] = useState(() => new Live(client));
  useEffect(() => {
    live.start();
    return () => live.stop();
  }, [live]);
  return <LiveContext.Provider value={live}>{children}</LiveContext.Provider>;
}

export function useLive(): Live {
  const live = useContext(LiveContext);
  if (!live) throw new Error('useLive requires a LiveProvider');
  return live;
}

export function useStreamState(): StreamState {
  const { state } = useLive();
  return useSyncExternalStore(state.subscribe, state.get);
}

export function useFreshness(): Freshness {
  const { freshness } = useLive();
  return useSyncExternalStore(freshness.subscribe, freshness.get);
}

/** Return the error message of a component that fails to draw live data; null if all work. */
export function useDrawError(): string | null {
  const { drawError } = useLive();
  return useSyncExternalStore(drawError.subscribe, drawError.get);
}

/** Subscribe the stream to a topic while the component is mounted. */
export function useTopic(topic: string): void {
  const live = useLive();
  useEffect(() => live.subscribeTopic(topic), [live, topic]);
}

/** Run `draw` immediately and after every batch of samples. */
export function useTick(draw: () => void): void {
  const live = useLive();
  useEffect(() => {
    // Register first: if drawing fails now, it is retried with the next batch.
    const stop = live.onTick(draw);
    live.drawOnce(draw);
    return stop;
  }, [live, draw]);
}
