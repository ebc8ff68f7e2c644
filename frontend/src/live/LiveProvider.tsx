/** Hands the one Live object to the tree and runs it while somebody is signed in. */
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
import type { StreamState } from './stream';

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
  if (!live) throw new Error('useLive needs a LiveProvider above it');
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

/** What a part of the page fails with, if one does. */
export function useFault(): string | null {
  const { fault } = useLive();
  return useSyncExternalStore(fault.subscribe, fault.get);
}

/** Keeps a topic in the stream while the component is mounted. */
export function useTopic(topic: string): void {
  const live = useLive();
  useEffect(() => live.want(topic), [live, topic]);
}

/** Runs `draw` after every batch of samples, and once at once. */
export function useTick(draw: () => void): void {
  const live = useLive();
  useEffect(() => {
    // Registered first: what cannot be drawn yet may be drawn a second later.
    const stop = live.onTick(draw);
    live.attempt(draw);
    return stop;
  }, [live, draw]);
}
