/** Restore points of each database. The age of the newest one is the data that is lost if the database is lost (RPO). Pure. */
import type { Backup, Bdb, RestoreWindow } from '@/api/types';
import { type Period, periods } from '../restores/restoreWindows';

export interface RecoveryPoints {
  bdb_uid: number;
  name: string;
  /** Whether the database still exists. Backups outlive it. */
  exists: boolean;
  /** Number of backups from which the database can be restored. */
  count: number;
  /** Epoch milliseconds: the start of the newest backup, or the end of the recorded changes. */
  newest: number | undefined;
  oldest: number | undefined;
  /** Periods in which each second can be restored, oldest first. */
  periods: Period[];
  /** Size of its files in the locations. */
  bytes: number;
}

/** Return the restore points of all databases, including those without any, and those of deleted databases. */
export function recoveryPoints(
  backups: readonly Backup[],
  bdbs: readonly Pick<Bdb, 'uid' | 'name'>[],
  windows: readonly RestoreWindow[],
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
    const recorded = periods(windows.filter(({ bdb_uid }) => bdb_uid === uid));
    const newest = [startOf(sorted.at(-1)), recorded.at(-1)?.to].filter(
      (each) => each !== undefined,
    );
    return {
      bdb_uid: uid,
      name: bdb?.name ?? sorted.at(-1)?.bdb_name ?? `Database ${uid}`,
      exists: bdb !== undefined,
      count: sorted.length,
      newest: newest.length ? Math.max(...newest) : undefined,
      oldest: startOf(sorted[0]),
      periods: recorded,
      bytes: sorted.reduce((sum, { bytes }) => sum + bytes, 0),
    };
  });
}

const startOf = (backup: Backup | undefined): number | undefined =>
  backup && Date.parse(backup.created_at);
