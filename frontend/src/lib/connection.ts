/** State of the connection to the console, for figures and for components that send requests. The event stream sets it. */
import { useSyncExternalStore } from 'react';
import { createStore } from './store';

/** Start of the current interruption in epoch milliseconds of the console's clock; null while connected. */
export const lostSince = createStore<number | null>(null);

/** Return why requests cannot be sent; undefined while connected. */
export function useDisconnectedReason(): string | undefined {
  const isLost = useSyncExternalStore(lostSince.subscribe, () => lostSince.get() !== null);
  return isLost ? 'The connection to the console is lost. Wait until it is restored.' : undefined;
}
