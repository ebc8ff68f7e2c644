/** Names of databases for display. Names need not be unique, so equal names are shown with the uid. Temporary databases of verifications are marked. Pure. */
import type { Bdb } from '../types';

export function withDisplayNames<Named extends Pick<Bdb, 'uid' | 'name' | 'internal'>>(
  bdbs: readonly Named[],
): Named[] {
  const counts = new Map<string, number>();
  for (const { name } of bdbs) counts.set(name, (counts.get(name) ?? 0) + 1);
  return bdbs.map((bdb) => {
    const notes = [
      ...((counts.get(bdb.name) ?? 0) > 1 ? [`uid ${bdb.uid}`] : []),
      ...(bdb.internal ? ['temporary'] : []),
    ];
    return notes.length ? { ...bdb, name: `${bdb.name} (${notes.join(', ')})` } : bdb;
  });
}

/** Whether another database has the name. Databases that are being deleted do not count. */
export const isNameTaken = (name: string, bdbs: readonly Bdb[], uid?: number): boolean =>
  bdbs.some((bdb) => bdb.name === name && bdb.uid !== uid && bdb.status !== 'delete-pending');
