/** An incident as people would tell it; what followed is told by the console. Pure. */
import type { Incident, IncidentDatabase } from '@/api/types';
import { plural } from '@/lib/format';
import { precise } from '@/lib/time';

export const percentText = (percent: number): string => `${Math.floor(percent)}\u00a0%`;

/** "node 2", "primary redis:5 of demo" */
export function lostOf({ node_uid, shard_uid, databases: [database] }: Incident): string {
  if (shard_uid === undefined) return `node ${node_uid}`;
  return `primary redis:${shard_uid}${database ? ` of ${databaseName(database)}` : ''}`;
}

/** "Node 2 was down for 41 s; demo was not served for 0.63 s; …" */
export function headline(incident: Incident, now: number): string {
  const { detected_ms, returned_ms, summary } = incident;
  const lost = lostOf(incident);
  const lasted = precise(((returned_ms ?? now) - detected_ms) / 1000);
  const begun = `${lost.charAt(0).toUpperCase()}${lost.slice(1)}`;
  const words = returned_ms === undefined ? 'has been down for' : 'was down for';
  return [`${begun} ${words} ${lasted}`, ...summary].join('; ');
}

/** How long a slot was served at no endpoint, in the client's time. */
export function unservedWords(database: IncidentDatabase, now: number): string {
  const { unserved_ms, unserved_since_ms } = database;
  if (unserved_since_ms !== undefined)
    return `for ${precise((now - unserved_since_ms) / 1000)} by now`;
  return unserved_ms === null ? 'not known' : `for ${precise(unserved_ms / 1000)}`;
}

export const databaseName = ({ uid, name }: IncidentDatabase): string => name ?? `database ${uid}`;

/** From the begin of the first resync to the end of the last one; null when there is none, or one goes on. */
export function resyncSeconds({ resyncs }: Pick<Incident, 'resyncs'>): number | null {
  const whole = resyncs.filter(({ in_sync, ended_ms }) => in_sync || ended_ms === undefined);
  const ends = whole.flatMap(({ ended_ms }) => ended_ms ?? []);
  if (!ends.length || ends.length < whole.length) return null;
  return (Math.max(...ends) - Math.min(...whole.map(({ began_ms }) => began_ms))) / 1000;
}

/** A replica whose copy was too quick to be seen on its way is in sync all the same. */
export const noResync = (revived: number): string =>
  revived
    ? `${plural(revived, 'replica')} came back in sync; no copy took long enough to be followed.`
    : 'No replica was resynced.';
