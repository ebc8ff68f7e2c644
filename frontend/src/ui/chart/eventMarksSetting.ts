/** Setting for event marks on all charts, stored in the browser. */
import { useSyncExternalStore } from 'react';
import { createStore } from '@/lib/store';

const KEY = 'shardboard.marks';

function stored(): boolean {
  try {
    return localStorage.getItem(KEY) !== 'hidden';
  } catch {
    return true;
  }
}

const store = createStore(stored());

export const useEventMarksVisible = (): boolean => useSyncExternalStore(store.subscribe, store.get);

export function setEventMarksVisible(isVisible: boolean): void {
  store.set(isVisible);
  try {
    localStorage.setItem(KEY, isVisible ? 'shown' : 'hidden');
  } catch {
    // Without storage the choice lasts until the page is closed.
  }
}
