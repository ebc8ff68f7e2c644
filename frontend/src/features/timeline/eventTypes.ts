/** Event types of the timeline with their names, filter groups and tones. Data only. */
import { isOpen } from '@/api/failures/eventSpans';
import type { LogEvent } from '@/api/types';

export type Tone = 'ok' | 'attention' | 'broken' | 'progress' | 'neutral' | 'drill';

export const EVENT_GROUPS = {
  outages: 'Outages',
  failovers: 'Failovers',
  resyncs: 'Resyncs',
  alarms: 'Alarms',
  drills: 'Drills',
  changes: 'Changes',
  actions: 'Actions',
} as const;
export type EventGroup = keyof typeof EVENT_GROUPS;

interface Kind {
  name: string;
  group: EventGroup;
  /** Default: derived from the severity. */
  tone?: Tone;
}

const KINDS: Record<string, Kind> = {
  node_failed: { name: 'Node down', group: 'outages', tone: 'broken' },
  node_up: { name: 'Node up', group: 'outages', tone: 'ok' },
  node_agent_lost: { name: 'Agent disconnected', group: 'outages' },
  node_agent_connected: { name: 'Agent connected', group: 'outages', tone: 'ok' },
  shard_down: { name: 'Shard down', group: 'outages' },
  shard_up: { name: 'Shard up', group: 'outages', tone: 'ok' },
  shard_hung: { name: 'Shard hung', group: 'outages' },
  shard_failover: { name: 'Failover', group: 'failovers' },
  shard_failover_failed: { name: 'Failover failed', group: 'failovers' },
  shard_handover_failed: { name: 'Switchover failed', group: 'failovers' },
  endpoint_moved: { name: 'Address changed', group: 'failovers', tone: 'attention' },
  endpoint_ended: { name: 'Old address removed', group: 'failovers' },
  shard_role_changed: { name: 'Role changed', group: 'failovers' },
  resync: { name: 'Resync', group: 'resyncs', tone: 'progress' },
  replica_link_down: { name: 'Replica link down', group: 'resyncs' },
  replica_in_sync: { name: 'Replica in sync', group: 'resyncs', tone: 'ok' },
  replica_revived: { name: 'Replica recovered', group: 'resyncs', tone: 'ok' },
  replica_revival_failed: { name: 'Replica recovery failed', group: 'resyncs' },
  drill_started: { name: 'Drill started', group: 'drills', tone: 'drill' },
  drill_ended: { name: 'Drill ended', group: 'drills', tone: 'drill' },
};

/**
 * Sign-ins and join tokens appear only in the event log, because they do not change the state of
 * the cluster.
 */
const HIDDEN = new Set(['login', 'login_failed', 'authentication_err', 'join_token_created']);

export const isOnTimeline = (event: LogEvent): boolean => !HIDDEN.has(event.type);

const ALARM = 'alarm_';
const isAlarm = ({ type }: LogEvent): boolean => type.startsWith(ALARM);

export function eventTypeName(event: LogEvent): string {
  const known = KINDS[event.type]?.name;
  if (known) return known;
  if (isAlarm(event))
    return `Alarm: ${event.type
      .slice(ALARM.length)
      .replaceAll('_', ' ')
      .replace(/\bbdb\b/, 'database')}`;
  const name = event.type.replace(/^bdb_/, 'database_').replaceAll('_', ' ');
  return name.charAt(0).toUpperCase() + name.slice(1);
}

export const groupOf = (event: LogEvent): EventGroup =>
  KINDS[event.type]?.group ?? (isAlarm(event) ? 'alarms' : 'changes');

export function toneOf(event: LogEvent): Tone {
  if (event.type === 'resync' && !isOpen(event))
    return event.outcome === 'lost' ? 'attention' : 'ok';
  const tone = KINDS[event.type]?.tone;
  if (tone) return tone;
  if (event.severity === 'ERROR' || event.severity === 'CRITICAL') return 'broken';
  return event.severity === 'WARNING' ? 'attention' : 'neutral';
}

const RANK: Record<Tone, number> = {
  broken: 5,
  attention: 4,
  progress: 3,
  ok: 2,
  drill: 1,
  neutral: 0,
};

export const worstTone = (tones: readonly Tone[]): Tone =>
  tones.reduce<Tone>((found, tone) => (RANK[tone] > RANK[found] ? tone : found), 'neutral');
