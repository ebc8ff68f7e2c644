/** Restore points of each database. The age of the newest one is the data that is lost if the database is lost (RPO). Pure. */
import type { Backup, Bdb } from '@/api/types';

export interface RecoveryPoints {
  bdb_uid: number;
  name: string;
  /** Whether the database still exists. Backups outlive it. */
  exists: boolean;
  /** Number of backups from which the database can be restored. */
  count: number;
  newest: Backup | undefined;
  oldest: Backup | undefined;
  /** Size of its files in the locations. */
  bytes: number;
}

/** Return the restore points of all databases, including those without any, and those of deleted databases. */
export function recoveryPoints(
  backups: readonly Backup[],
  bdbs: readonly Pick<Bdb, 'uid' | 'name'>[],
): RecoveryPoints[] {
  const byDatabase = new Map<number, Backup[]>(bdbs.map(({ uid }) => [uid, []]));
  for (const backup of backups) {
    if (backup.status !== 'succeeded') continue;
    const list = byDatabase.get(backup.bdb_uid);
    if (list) list.push(backup);
    else byDatabase.set(backup.bdb_uid, [backup]);
  }
  return [...byDatabase].map(([uid, list]) => {
    const sorted = list.sort((a, b) => Date.parse(a.created_at) - Date.parse(b.created_at));
    const bdb = bdbs.find((each) => each.uid === uid);
    return {
      bdb_uid: uid,
      name: bdb?.name ?? sorted.at(-1)?.bdb_name ?? `Database ${uid}`,
      exists: bdb !== undefined,
      count: sorted.length,
      newest: sorted.at(-1),
      oldest: sorted[0],
      bytes: sorted.reduce((sum, { bytes }) => sum + bytes, 0),
    };
  });
}
