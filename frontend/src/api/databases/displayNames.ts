/** Names of databases for display. Names need not be unique, so equal names are shown with the uid. Pure. */
import type { Bdb } from '../types';

export function withDisplayNames<Named extends Pick<Bdb, 'uid' | 'name'>>(
  bdbs: readonly Named[],
): Named[] {
  const counts = new Map<string, number>();
  for (const { name } of bdbs) counts.set(name, (counts.get(name) ?? 0) + 1);
  return bdbs.map((bdb) =>
    counts.get(bdb.name) === 1 ? bdb : { ...bdb, name: `${bdb.name} (uid ${bdb.uid})` },
  );
}

/** Whether another database has the name. Databases that are being deleted do not count. */
export const isNameTaken = (name: string, bdbs: readonly Bdb[], uid?: number): boolean =>
  bdbs.some((bdb) => bdb.name === name && bdb.uid !== uid && bdb.status !== 'delete-pending');
