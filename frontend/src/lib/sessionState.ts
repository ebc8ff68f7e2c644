/** State that survives a sign-in or a reload, such as form input. Do not store secrets here. */
import { useCallback, useState } from 'react';

const PREFIX = 'shardboard.kept.';

export function readSessionState<T>(key: string): T | undefined {
  try {
    const text = sessionStorage.getItem(PREFIX + key);
    return text === null ? undefined : (JSON.parse(text) as T);
  } catch {
    return undefined;
  }
}

export function storeSessionState<T>(key: string, value: T): void {
  try {
    sessionStorage.setItem(PREFIX + key, JSON.stringify(value));
  } catch {
    // Without storage, the state lasts until the page is closed.
  }
}

export function clearSessionState(key: string): void {
  try {
    sessionStorage.removeItem(PREFIX + key);
  } catch {
    // Without storage, there is nothing to remove.
  }
}

/** Like `useState`, but stored in the session storage. */
export function useSessionState<T>(
  key: string,
  initial: T,
  /** Returns the part of the value that can be stored. */
  part: (value: T) => T = (value) => value,
): [T, (next: (now: T) => T) => void] {
  const [value, set] = useState<T>(() => readSessionState<T>(key) ?? initial);
  const change = useCallback(
    (next: (now: T) => T) =>
      set((now) => {
        const changed = next(now);
        storeSessionState(key, part(changed));
        return changed;
      }),
    [key, part],
  );
  return [value, change];
}
