/** Uid of the console on which this page was opened before it continued here, from the fragment of the URL. */
import { createStore } from '@/lib/store';

const PREFIX = '#continued-from=';

/** Return the fragment that names the lost console to the web UI of another one. */
export const continuedFromFragment = (uid: string): string => PREFIX + uid;

/** Remove the fragment from the URL, so that a reload or a bookmark does not repeat the message. */
function takeFragment(): string | null {
  if (typeof location === 'undefined' || !location.hash.startsWith(PREFIX)) return null;
  const uid = location.hash.slice(PREFIX.length);
  history.replaceState(history.state, '', location.pathname + location.search);
  return /^[\w-]{1,64}$/.test(uid) ? uid : null;
}

export const continuedFrom = createStore<string | null>(takeFragment());
