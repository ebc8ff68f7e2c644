/** Texts about storage locations. Pure. */
import type { Backup, BackupLocation, Bdb, FoundBackups } from '@/api/types';
import { plural } from '@/lib/format';

const MAX_NAMES = 3;

/** Return the names of the databases that use a location, or their number if there are many; empty if none uses it. */
export function usedByText(
  uids: readonly number[],
  bdbs: readonly Pick<Bdb, 'uid' | 'name'>[],
): string {
  if (uids.length > MAX_NAMES) return plural(uids.length, 'database');
  return uids
    .map((uid) => bdbs.find((bdb) => bdb.uid === uid)?.name ?? `database ${uid}`)
    .join(', ');
}

export interface LocationUse {
  /** Names of the databases whose schedules use the location, and "the console" if its schedule does; empty if none does. */
  schedules: string;
  /** Number of backups in the location. */
  count: number;
  /** Their stored size. */
  bytes: number;
}

/** Return how a location is used. `consoleLocation` is the location of the schedule of the console. */
export function locationUse(
  { uid, used_by }: Pick<BackupLocation, 'uid' | 'used_by'>,
  bdbs: readonly Pick<Bdb, 'uid' | 'name'>[],
  backups: readonly Pick<Backup, 'location_uid' | 'bytes'>[],
  consoleLocation?: number,
): LocationUse {
  const stored = backups.filter(({ location_uid }) => location_uid === uid);
  return {
    schedules: [usedByText(used_by, bdbs), uid === consoleLocation && 'the console']
      .filter(Boolean)
      .join(', '),
    count: stored.length,
    bytes: stored.reduce((sum, { bytes }) => sum + bytes, 0),
  };
}

/** Return why the location cannot be deleted; undefined if it can. */
export function deleteDeniedReason({ schedules, count }: LocationUse): string | undefined {
  if (schedules) return `The schedule of ${schedules} uses it. Change the schedule first`;
  if (count === 0) return undefined;
  return `It contains ${plural(count, 'backup')}. Delete ${count === 1 ? 'it' : 'them'} first`;
}

/** Return the result of a search for backups. */
export function foundText({ added, has_more }: Pick<FoundBackups, 'added' | 'has_more'>): string {
  if (added.length === 0) return 'No further backups found';
  const text = `${plural(added.length, 'backup')} added`;
  return has_more ? `${text}. There are more; search again` : text;
}
