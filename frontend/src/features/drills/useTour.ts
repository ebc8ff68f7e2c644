/** Start time of the tour. Stored in the browser, so that the tour continues after a reload. */
import { useSyncExternalStore } from 'react';
import { clearSessionState, readSessionState, storeSessionState } from '@/lib/sessionState';
import { createStore } from '@/lib/store';

const KEY = 'tour';
const store = createStore<number | null>(readSessionState<number>(KEY) ?? null);

/** Return the start of the tour in epoch milliseconds of the console's clock; null without a tour. */
export const useTour = (): number | null => useSyncExternalStore(store.subscribe, store.get);

export function startTour(now: number): void {
  storeSessionState(KEY, now);
  store.set(now);
}

export function endTour(): void {
  clearSessionState(KEY);
  store.set(null);
}
