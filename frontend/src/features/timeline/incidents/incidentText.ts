/** Texts of incidents. The summary of the consequences comes from the console. Pure. */
import type { Incident, IncidentDatabase, IncidentFigure } from '@/api/types';
import { plural } from '@/lib/format';
import { formatPreciseDuration } from '@/lib/time';

export const percentText = (percent: number): string => `${Math.floor(percent)}%`;

/** "node 2", "primary redis:5 of demo" */
export function failedComponent({ node_uid, shard_uid, databases: [database] }: Incident): string {
  if (shard_uid === undefined) return `node ${node_uid}`;
  return `primary redis:${shard_uid}${database ? ` of ${databaseName(database)}` : ''}`;
}

/** Maximum number of characters of a title. */
export const MAX_TITLE = 60;

/** "Node 2 was down for 41 s". A long name of a database is shortened. */
export function incidentTitle(incident: Incident, now: number): string {
  const { detected_ms, returned_ms } = incident;
  const failed = failedComponent(incident);
  const component = `${failed.charAt(0).toUpperCase()}${failed.slice(1)}`;
  const downtime = formatPreciseDuration(((returned_ms ?? now) - detected_ms) / 1000);
  const end = ` ${returned_ms === undefined ? 'has been' : 'was'} down for ${downtime}`;
  const length = MAX_TITLE - end.length;
  return (component.length > length ? `${component.slice(0, length - 1)}…` : component) + end;
}

const FIGURES: Record<IncidentFigure['name'], { label: string; unknown: string }> = {
  down: { label: 'Down for', unknown: 'It is still down' },
  unserved: { label: 'Not served for', unknown: 'No client impact was measured' },
  promoted: { label: 'Promoted after detection', unknown: 'No replica was promoted' },
  in_sync: { label: 'In sync after detection', unknown: 'Not all pairs are in sync yet' },
};

/** A figure as text, with the uids of the events that it is computed from. */
export interface FigureText {
  label: string;
  /** Undefined if the value is unknown. */
  value: string | undefined;
  /** Why the value is unknown. */
  unknown: string;
  note: string;
  events: string;
}

/** Return the figures of an incident. Its downtime grows until the node or shard is back. */
export function figureTexts(incident: Incident, now: number): FigureText[] {
  const { detected_ms, returned_ms } = incident;
  return incident.figures.map(({ name, ms, count, total, events }) => {
    const isDown = name === 'down' && returned_ms === undefined;
    const known = isDown ? now - detected_ms : ms;
    return {
      ...FIGURES[name],
      value: known === null ? undefined : formatPreciseDuration(known / 1000),
      note: isDown ? 'so far' : total ? `${count ?? 0} of ${total}` : '',
      events: events.join(),
    };
  });
}

/** Return the effects as one sentence. It can start with the name of a database, so its first letter is not changed. */
export const accountOf = ({ summary }: Incident): string => `${summary.join('; ')}.`;

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
    ? `${plural(revived, 'replica')} returned in sync. The resyncs were too short to be tracked.`
    : 'No replica was resynced.';
