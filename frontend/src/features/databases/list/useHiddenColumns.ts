/** Columns that the user hid, stored in the browser. */
import { useState } from 'react';

const KEY = 'shardboard.databases.hidden';

function stored(): ReadonlySet<string> {
  try {
    const ids: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]');
    return new Set(Array.isArray(ids) ? ids.map(String) : []);
  } catch {
    return new Set();
  }
}

export function useHiddenColumns(): [ReadonlySet<string>, (id: string, hide: boolean) => void] {
  const [hidden, setHidden] = useState(stored);
  const change = (id: string, hide: boolean) => {
    const next = new Set(hidden);
    if (hide) next.add(id);
    else next.delete(id);
    setHidden(next);
    try {
      localStorage.setItem(KEY, JSON.stringify([...next]));
    } catch {
      // Without storage, the choice is kept until the page is closed.
    }
  };
  return [hidden, change];
}
