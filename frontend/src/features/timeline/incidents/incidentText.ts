/** Texts of incidents. The summary of the consequences comes from the console. Pure. */
import type { Incident, IncidentDatabase } from '@/api/types';
import { plural } from '@/lib/format';
import { formatPreciseDuration } from '@/lib/time';

export const percentText = (percent: number): string => `${Math.floor(percent)}\u00a0%`;

/** "node 2", "primary redis:5 of demo" */
export function failedComponent({ node_uid, shard_uid, databases: [database] }: Incident): string {
  if (shard_uid === undefined) return `node ${node_uid}`;
  return `primary redis:${shard_uid}${database ? ` of ${databaseName(database)}` : ''}`;
}

/** "Node 2 was down for 41 s; demo was not served for 0.63 s; …" */
export function headline(incident: Incident, now: number): string {
  const { detected_ms, returned_ms, summary } = incident;
  const failed = failedComponent(incident);
  const downtime = formatPreciseDuration(((returned_ms ?? now) - detected_ms) / 1000);
  const component = `${failed.charAt(0).toUpperCase()}${failed.slice(1)}`;
  const verb = returned_ms === undefined ? 'has been down for' : 'was down for';
  return [`${component} ${verb} ${downtime}`, ...summary].join('; ');
}

/** Text for the longest time that a slot was not served by any endpoint, as measured for clients. */
export function unservedText(database: IncidentDatabase, now: number): string {
  const { unserved_ms, unserved_since_ms } = database;
  if (unserved_since_ms !== undefined)
    return `for ${formatPreciseDuration((now - unserved_since_ms) / 1000)} so far`;
  return unserved_ms === null ? 'unknown' : `for ${formatPreciseDuration(unserved_ms / 1000)}`;
}

export const databaseName = ({ uid, name }: IncidentDatabase): string => name ?? `database ${uid}`;

/**
 * Return the seconds from the start of the first resync to the end of the last one; null if none
 * exists or one is still running.
 */
export function resyncSeconds({ resyncs }: Pick<Incident, 'resyncs'>): number | null {
  const complete = resyncs.filter(({ in_sync, ended_ms }) => in_sync || ended_ms === undefined);
  const ends = complete.flatMap(({ ended_ms }) => ended_ms ?? []);
  if (!ends.length || ends.length < complete.length) return null;
  return (Math.max(...ends) - Math.min(...complete.map(({ began_ms }) => began_ms))) / 1000;
}

/** Text for an incident without resyncs. Short resyncs can finish before they are recorded. */
export const noResyncText = (revived: number): string =>
  revived
    ? `${plural(revived, 'replica')} came back in sync. The resyncs were too short to be tracked.`
    : 'No replica was resynced.';
