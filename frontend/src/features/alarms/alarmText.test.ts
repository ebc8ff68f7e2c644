import { describe, expect, it } from 'vitest';
import type { LogEvent } from '@/api/types';
import { activeAlarm } from './alarmText';

const names = new Map([[1, 'demo']]);
const alarm = (part: Partial<LogEvent>) =>
  ({ uid: 1, time_ms: 5, severity: 'ERROR', description: 'It was so.', ...part }) as LogEvent;
const text = (part: Partial<LogEvent>) =>
  activeAlarm(alarm(part), names).text.replaceAll('\u00a0', ' ');

describe('activeAlarm', () => {
  it.each([
    [
      { type: 'alarm_two_primaries', bdb_uid: 1, shards: [1, 4] },
      'Two shards of demo are primaries of the same slots: redis:1 and redis:4',
    ],
    [
      { type: 'alarm_shards_refuse', bdb_uid: 1, shards: [2] },
      'Primaries of demo are running but reject requests, because they consider their cluster incomplete: redis:2',
    ],
    [
      { type: 'alarm_store_mismatch', bdb_uid: 1, empty: [1, 2] },
      'Shards of demo and their data are missing: repair or delete the database',
    ],
    [
      { type: 'alarm_store_mismatch', bdb_uid: 1, empty: [] },
      'demo differs from the state that the console has stored: repair the database',
    ],
    [
      { type: 'alarm_unknown_shards', node_uid: 2, shards: [7] },
      "Node 2 has shards of databases that the console's store does not contain: redis:7. The console does not change them",
    ],
    [
      { type: 'alarm_recovery_copies', node_uid: 2, reason: 'its agent did not store all of them' },
      'Node 2 does not have the newest copies for a rebuild of the console: its agent did not store all of them',
    ],
    [
      { type: 'alarm_no_replica', bdb_uid: 1, pairs: [2] },
      '1 primary of demo has no running replica',
    ],
    [{ type: 'alarm_slots_uncovered', bdb_uid: 1 }, 'demo is not served: no primary is running'],
    [{ type: 'alarm_memory_full', bdb_uid: 1 }, 'demo rejects writes: its memory is full'],
    [
      { type: 'alarm_shard_connections', bdb_uid: 1, shards: [3, 4], refused: [] },
      'Most connections of shards of demo are in use: redis:3 and redis:4',
    ],
    [
      { type: 'alarm_shard_connections', bdb_uid: 1, shards: [3], refused: [3] },
      'Shards of demo refuse connections, because too many are open: redis:3',
    ],
    [
      { type: 'alarm_bdb_high_throughput', bdb_uid: 1, threshold: 100000 },
      'demo receives more than 100,000 requests per second',
    ],
    [
      {
        type: 'alarm_bdb_backup_delayed',
        bdb_uid: 1,
        threshold: 60,
        due_at: '2026-11-30T02:00:00+00:00',
      },
      'The scheduled backup of demo is delayed by more than 60 minutes. It was due at 2026-11-30 02:00 UTC',
    ],
    [
      {
        type: 'alarm_bdb_backup_size_changed',
        bdb_uid: 1,
        threshold: 3,
        bytes: 1048576,
        previous_bytes: 10485760,
      },
      'The size of backups of demo changed by more than a factor of 3: from 10 MiB to 1 MiB',
    ],
    [
      { type: 'alarm_node_memory', node_uid: 2, threshold: 92.5 },
      'The memory of node 2 is more than 92.5% full',
    ],
    [
      { type: 'alarm_cluster_certs_about_to_expire', ends: '2999-01-02T03:04:05+00:00' },
      'The certificate of the console expires on 2999-01-02',
    ],
    [
      {
        type: 'alarm_node_internal_certs_about_to_expire',
        node_uid: 2,
        ends: '2020-01-02T03:04:05Z',
      },
      'The certificate of the agent of node 2 expired on 2020-01-02',
    ],
    [
      { type: 'alarm_agent_cut_off', node_uid: 3, reason: 'it sent a line of more than 1024 KiB' },
      'The agent of node 3 is cut off, because it sent a line of more than 1024 KiB. Its shards are not monitored',
    ],
    [
      { type: 'alarm_receiver_failed', receivers: ['chat', 'on call'] },
      'Notifications cannot be delivered to chat, on call',
    ],
    [{ type: 'alarm_of_tomorrow' }, 'It was so'],
  ])('returns a text for %o', (part, expected) =>
    expect(text(part as Partial<LogEvent>)).toBe(expected),
  );
});
