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

export function setEventMarksVisible(shown: boolean): void {
  store.set(shown);
  try {
    localStorage.setItem(KEY, shown ? 'shown' : 'hidden');
  } catch {
    // Without storage the choice lasts until the page is closed.
  }
}
