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
import { checkConsole, createHandover, openOn } from '@/api/access/handover';
import type { HandoverConsole } from '@/api/types';
import { ConsoleSwitch, type SwitchState } from './consoles/consoleSwitch';
import { continuedFromFragment } from './consoles/continuedFrom';
import { hasUsedForm, watchInput } from './consoles/unsavedInput';
import type { Freshness } from './freshness';
import { Live } from './live';
import type { StreamState } from './stream/stream';

const LiveContext = createContext<Live | null>(null);
const SwitchContext = createContext<ConsoleSwitch | null>(null);

const createSwitch = () =>
  new ConsoleSwitch({
    origin: location.origin,
    fetchHandover: createHandover,
    check: checkConsole,
    hasInput: hasUsedForm,
    leave: (target, lost, token) => {
      const path = location.pathname + location.search + continuedFromFragment(lost.uid);
      openOn(target.origin, path, token);
    },
  });

export function LiveProvider({ children }: { children: ReactNode }) {
  const client = useQueryClient();
  const [live] = useState(() => new Live(client));
  const [consoles] = useState(createSwitch);
  useEffect(() => {
    const stopWatching = watchInput();
    const stopFollowing = live.state.subscribe(() => {
      const { phase } = live.state.get();
      if (phase === 'live') consoles.onConnected();
      else if (phase === 'lost') void consoles.onLost();
    });
    consoles.start();
    live.start();
    return () => {
      stopFollowing();
      stopWatching();
      live.stop();
      consoles.stop();
    };
  }, [live, consoles]);
  return (
    <SwitchContext.Provider value={consoles}>
      <LiveContext.Provider value={live}>{children}</LiveContext.Provider>
    </SwitchContext.Provider>
  );
}

/** Return whether the page continues on another console, and the user's decision to do so. */
export function useConsoleSwitch(): {
  state: SwitchState;
  consoles: readonly HandoverConsole[];
  continueNow: () => void;
} {
  const consoles = useContext(SwitchContext);
  if (!consoles) throw new Error('useConsoleSwitch requires a LiveProvider');
  return {
    state: useSyncExternalStore(consoles.state.subscribe, consoles.state.get),
    consoles: useSyncExternalStore(consoles.consoles.subscribe, consoles.consoles.get),
    continueNow: () => void consoles.continueNow(),
  };
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
