/** Events of a node that went down and recovered, as reported by the console. For tests. */
import type { LogEvent } from '@/api/types';

export const T0 = Date.UTC(2026, 2, 1, 4, 0, 0);

export function event(uid: number, seconds: number, part: Partial<LogEvent> = {}): LogEvent {
  const at = T0 + seconds * 1000;
  return {
    uid,
    time: new Date(at).toISOString(),
    time_ms: at,
    type: 'node_up',
    severity: 'INFO',
    source: 'node',
    originator: 'system',
    description: `Event ${uid}.`,
    ...part,
  };
}

export const failed = (part: Partial<LogEvent> = {}): LogEvent =>
  event(10, 0, {
    type: 'node_failed',
    severity: 'ERROR',
    node_uid: 2,
    witnesses: [1, 3],
    primaries: 2,
    replicas: 2,
    ended_ms: T0 + 41_000,
    ...part,
  });

export const failover = (uid: number, lost: number, promoted: number, bytes: number | null = 0) =>
  event(uid, 0.4, {
    type: 'shard_failover',
    severity: 'WARNING',
    source: 'shard',
    bdb_uid: 1,
    node_uid: 2,
    shard_uid: String(promoted),
    action_uid: 'failover-1',
    pair: lost - 1,
    lost,
    promoted,
    bytes_behind: bytes,
    method: 'FORCE',
    seconds: uid === 11 ? 0.25 : 0.39,
  });

export const resync = (uid: number, shard: number, from: number, part: Partial<LogEvent> = {}) =>
  event(uid, from, {
    type: 'resync',
    source: 'shard',
    bdb_uid: 1,
    node_uid: 2,
    shard_uid: String(shard),
    pair: shard - 1,
    primary: shard + 6,
    phase: 'in_sync',
    percent: 100,
    bytes: 2 ** 20,
    ended_ms: T0 + (from + 10) * 1000,
    ...part,
  });

export const OUTAGE_EVENTS: LogEvent[] = [
  event(9, -2, { type: 'drill_started', node_uid: 2, originator: 'ann', kind: 'reboot' }),
  failed(),
  failover(11, 2, 8),
  failover(12, 5, 11),
  event(13, 41, { node_uid: 2 }),
  ...[2, 5, 7, 10].map((shard, index) => resync(14 + index, shard, 42 + index * 0.5)),
  event(20, 20, { type: 'bdb_created', source: 'bdb', bdb_uid: 2 }),
  event(21, 50, { type: 'node_agent_lost', severity: 'WARNING', node_uid: 3 }),
];
