/** The location that was last chosen for a database, in the local storage of the browser. */

const keyOf = (bdb: number): string => `shardboard.backup.location.${bdb}`;

/** Return the uid of the location; undefined if none was chosen in this browser. */
export function lastLocation(bdb: number): number | undefined {
  try {
    return Number(localStorage.getItem(keyOf(bdb))) || undefined;
  } catch {
    return undefined;
  }
}

export function rememberLocation(bdb: number, location: number): void {
  try {
    localStorage.setItem(keyOf(bdb), String(location));
  } catch {
    // Without storage, the choice is not remembered.
  }
}
