/** Start and duration of the tour's drill. Stored in the browser, so that the tour continues after a reload. */
import { useSyncExternalStore } from 'react';
import { clearSessionState, readSessionState, storeSessionState } from '@/lib/sessionState';
import { createStore } from '@/lib/store';

const KEY = 'tour';

export interface TourStart {
  /** Epoch milliseconds of the console's clock. */
  since: number;
  /** Duration of the drill. */
  seconds: number;
}

const store = createStore<TourStart | null>(storedStart());

function storedStart(): TourStart | null {
  const stored = readSessionState<TourStart>(KEY);
  return stored?.since === undefined ? null : stored;
}

/** Return the start of the tour; null without a tour. */
export const useTour = (): TourStart | null => useSyncExternalStore(store.subscribe, store.get);

export function startTour(start: TourStart): void {
  storeSessionState(KEY, start);
  store.set(start);
}

export function endTour(): void {
  clearSessionState(KEY);
  store.set(null);
}
