/** Recently used entries of the command palette, stored in the browser. */
const KEY = 'shardboard.palette';
const MAX_RECENTS = 5;

/** Return the ids of the recently used entries, newest first. */
export function readRecents(): string[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]');
    if (!Array.isArray(stored)) return [];
    return stored.filter((id) => typeof id === 'string').slice(0, MAX_RECENTS);
  } catch {
    return [];
  }
}

export function addRecent(id: string): void {
  const ids = [id, ...readRecents().filter((other) => other !== id)].slice(0, MAX_RECENTS);
  try {
    localStorage.setItem(KEY, JSON.stringify(ids));
  } catch {
    // Without storage there are no recently used entries.
  }
}
