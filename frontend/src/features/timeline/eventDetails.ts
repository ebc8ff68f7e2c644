/** Details of an event as names and values. Pure. */
import { failoverOf, outageOf, phaseLabel, resyncOf, startOf } from '@/api/failures/eventSpans';
import type { Incident, LogEvent } from '@/api/types';
import { format, formatExact, plural } from '@/lib/format';
import { formatPreciseDuration } from '@/lib/time';
import { databaseName, percentText, resyncSeconds, unservedText } from './incidents/incidentText';

export type Detail = readonly [name: string, value: string];

const METHODS: Record<string, string> = {
  FORCE: 'FORCE: elected by the other primaries, without the lost primary',
  TAKEOVER: 'TAKEOVER: promoted without a vote, because no majority was available',
  REPLICAOF:
    'REPLICAOF NO ONE: promoted without a vote, because the database is not in cluster mode',
  GRACEFUL: 'graceful: switchover',
};

const durationText = (ms: number): string => formatPreciseDuration(ms / 1000);

export function eventDetails(
  event: LogEvent,
  incident: Incident | undefined,
  now: number,
): Detail[] {
  return [
    ...(incident?.event_uid === event.uid ? incidentFacts(incident, now) : []),
    ...outageFacts(event, now),
    ...failoverFacts(event, incident),
    ...resyncFacts(event, now),
    ...drillFacts(event),
    ...(event.originator && event.originator !== 'system'
      ? ([['Requested by', event.originator]] as const)
      : []),
  ];
}

/** "agents on nodes 1 and 3 (no shard reachable)" */
function witnessText(nodes: readonly number[]): string {
  const firstNodes = nodes.slice(0, -1).join(', ');
  const observers = nodes.length > 1 ? `agents on nodes ${firstNodes} and` : 'the agent on node';
  return `${observers} ${nodes.at(-1)} (no shard reachable)`;
}

/** Client impact first, then the reaction of the console. */
function incidentFacts(incident: Incident, now: number): Detail[] {
  const facts: Detail[] = incident.databases.map((database) => [
    `${databaseName(database)} not served`,
    unservedText(database, now),
  ]);
  const promoted = incident.databases.flatMap(({ promoted_after_ms: after }) => after ?? []);
  if (promoted.length)
    facts.push(['Promoted after detection', durationText(Math.max(...promoted))]);
  const resynced = resyncSeconds(incident);
  if (resynced !== null) facts.push(['Resynced in', formatPreciseDuration(resynced)]);
  if (incident.bytes_resynced !== null)
    facts.push(['Received in resyncs', format('bytes', incident.bytes_resynced)]);
  if (incident.failovers.length)
    facts.push(['Replication lag at promotion', replicationLagText(incident.bytes_behind)]);
  return facts;
}

function outageFacts(event: LogEvent, now: number): Detail[] {
  const outage = outageOf(event);
  if (!outage) return [];
  const { witnesses, primaries, replicas, from, to, detectedMs } = outage;
  const facts: Detail[] = [];
  if (detectedMs !== null) facts.push(['Detected after', formatPreciseDuration(detectedMs / 1000)]);
  facts.push(['Detected by', witnesses.length ? witnessText(witnesses) : 'console']);
  facts.push([
    'Shards lost',
    `${plural(primaries, 'primary', 'primaries')}, ${plural(replicas, 'replica')}`,
  ]);
  facts.push([to === null ? 'Down for' : 'Recovered after', durationText((to ?? now) - from)]);
  return facts;
}

function failoverFacts(event: LogEvent, incident: Incident | undefined): Detail[] {
  const failover = failoverOf(event);
  if (!failover) return [];
  const { lost, promoted, seconds, method, bytesBehind, at } = failover;
  const facts: Detail[] = [['Failover', `redis:${lost} → redis:${promoted}`]];
  if (incident) facts.push(['Promoted after detection', durationText(at - incident.detected_ms)]);
  if (seconds !== null) facts.push(['Duration', formatPreciseDuration(seconds)]);
  facts.push(['Replication lag', replicationLagText(bytesBehind)]);
  if (method) facts.push(['Method', METHODS[method.toUpperCase()] ?? method]);
  return facts;
}

export const replicationLagText = (bytes: number | null): string =>
  bytes === null ? 'unknown' : bytes ? formatExact('bytes', bytes) : '0 B at the last report';

function resyncFacts(event: LogEvent, now: number): Detail[] {
  const resync = resyncOf(event);
  if (!resync) return [];
  const { from, to, open, percent, phase, bytes, rate, etaSeconds, primary, incomplete } = resync;
  const facts: Detail[] = [];
  if (primary) facts.push(['From', `redis:${primary}`]);
  if (open) facts.push(['Progress', `${phaseLabel(phase)}, ${percentText(percent)}`]);
  if (incomplete) facts.push(['Outcome', 'ended before the replica was in sync']);
  facts.push([open ? 'Elapsed' : 'Duration', durationText((to ?? now) - from)]);
  if (bytes !== null) facts.push(['Received', format('bytes', bytes)]);
  if (rate) facts.push(['Rate', format('bytesPerSecond', rate)]);
  if (open && etaSeconds !== null) facts.push(['Remaining', formatPreciseDuration(etaSeconds)]);
  return facts;
}

function drillFacts(event: LogEvent): Detail[] {
  if (!event.type.startsWith('drill_')) return [];
  const facts: Detail[] = [['Type', String(event.kind ?? '–').replaceAll('_', ' ')]];
  if (typeof event.seconds === 'number')
    facts.push(['Duration', formatPreciseDuration(event.seconds)]);
  return facts;
}

/** Return the phases of a resync with their durations. */
export function phaseDurations(event: LogEvent, now: number): { name: string; seconds: number }[] {
  return (resyncOf(event)?.phases ?? []).map(({ name, from, to }) => ({
    name: phaseLabel(name),
    seconds: Math.max(0, ((to ?? now) - from) / 1000),
  }));
}

export const offsetText = (event: LogEvent, from: number): string => {
  const seconds = (startOf(event) - from) / 1000;
  return `${seconds < 0 ? '−' : '+'}${formatPreciseDuration(Math.abs(seconds))}`;
};
