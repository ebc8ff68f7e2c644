/** Present-tense texts of active alarms. Pure. */

import type { ActiveAlarm } from '@/api/alerting/health';
import { startOf } from '@/api/failures/eventSpans';
import type { LogEvent } from '@/api/types';
import { format, plural } from '@/lib/format';
import { consoleNow } from '@/lib/time';

type AlarmText = (alarm: LogEvent, name: string) => string;

const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const shards = ({ shards: uids }: LogEvent): string =>
  list(uids)
    .map((uid) => `redis:${uid}`)
    .join(' and ');
const limit = (threshold: unknown): string => Number(threshold).toLocaleString('en-US');

const endsOn = (ends: unknown): string => {
  const day = String(ends).slice(0, 10);
  return Date.parse(String(ends)) < consoleNow() ? `expired on ${day}` : `expires on ${day}`;
};

const ALARM_TEXTS: Record<string, AlarmText> = {
  alarm_slots_uncovered: ({ slots, description }, name) =>
    // Only the description shows whether the database has hash slots.
    description.includes('hash slots')
      ? `${Number(slots).toLocaleString('en-US')} of 16,384 hash slots of ${name} are not served: no primary is running`
      : `${name} is not served: no primary is running`,
  alarm_shards_refuse: (alarm, name) =>
    `Primaries of ${name} are running but reject requests, because they consider their cluster incomplete: ${shards(alarm)}`,
  alarm_two_primaries: (alarm, name) =>
    `Two shards of ${name} are primaries of the same slots: ${shards(alarm)}`,
  alarm_pair_on_one_node: (alarm, name) =>
    `${shards(alarm)} of ${name} hold the same data and are both on node ${alarm.node_uid}`,
  alarm_rack_aware_violation: ({ pairs }, name) => {
    const count = list(pairs).length;
    return `${name} is rack-aware, but ${plural(count, 'replication pair')} ${count === 1 ? 'does' : 'do'} not have copies in different zones. Rebalance the database`;
  },
  alarm_no_replica: ({ pairs }, name) => {
    const count = list(pairs).length;
    return `${plural(count, 'primary', 'primaries')} of ${name} ${count === 1 ? 'has' : 'have'} no running replica`;
  },
  alarm_replication_lag: ({ shard_uid, threshold }, name) =>
    `Replica redis:${shard_uid} of ${name} is more than ${format('bytes', Number(threshold))} behind its primary`,
  alarm_keys_collapsed: ({ shard_uid, keys_before }, name) =>
    `Primary redis:${shard_uid} of ${name} had ${Number(keys_before).toLocaleString('en-US')} keys and has lost most of them since its process restarted`,
  alarm_memory_full: (_, name) => `${name} rejects writes: its memory is full`,
  alarm_shard_connections: (alarm, name) =>
    list(alarm.refused).length > 0
      ? `Shards of ${name} refuse connections, because too many are open: ${shards(alarm)}`
      : `Most connections of shards of ${name} are in use: ${shards(alarm)}`,
  alarm_clock: ({ node_uid }) =>
    `The clock of node ${node_uid} is ahead of the console's; its samples are omitted from the charts`,
  alarm_samples_late: ({ node_uid, percent, cpu_busy }) =>
    `More than ${percent}% of the samples of node ${node_uid} are late or incomplete${cpu_busy ? '. The CPU of the node is busy' : ''}`,
  alarm_agent_cut_off: ({ node_uid, reason }) =>
    `The agent of node ${node_uid} is cut off, because ${reason}. Its shards are not monitored`,
  alarm_receiver_failed: ({ receivers }) =>
    `Notifications cannot be delivered to ${list(receivers).join(', ')}`,
  alarm_node_flapping: ({ node_uid, outages }) =>
    `Node ${node_uid} was down ${outages} times within ten minutes and recovered each time without a restart`,
  alarm_flash_full: ({ shard_uid }, name) =>
    `The flash of redis:${shard_uid} of ${name} is full: its values stay in RAM`,
  alarm_flash_failing: ({ shard_uid, node_uid }, name) =>
    `The flash of redis:${shard_uid} of ${name} on node ${node_uid} cannot be written: its values stay in RAM`,
  alarm_flash_unreadable: ({ shard_uid, node_uid }, name) =>
    `Values on the flash of redis:${shard_uid} of ${name} on node ${node_uid} cannot be read: requests for them fail`,
  alarm_ram_values: ({ threshold }, name) =>
    `Less than ${format('ratio', Number(threshold))} of the values of ${name} are in RAM`,
  alarm_ram_dataset_overhead: (_, name) =>
    `The RAM of ${name} contains almost only keys: its RAM limit is too small`,
  alarm_bdb_size: ({ threshold }, name) => `The memory of ${name} is more than ${threshold}% full`,
  alarm_bdb_high_throughput: ({ threshold }, name) =>
    `${name} receives more than ${limit(threshold)} requests per second`,
  alarm_bdb_low_throughput: ({ threshold }, name) =>
    `${name} receives fewer than ${limit(threshold)} requests per second`,
  alarm_bdb_high_latency: ({ threshold }, name) =>
    `Requests to ${name} take more than ${limit(threshold)} µs on average`,
  alarm_bdb_backup_delayed: ({ threshold, due_at }, name) =>
    `The scheduled backup of ${name} is delayed by more than ${limit(threshold)} minutes. It was due at ${String(due_at).slice(0, 16).replace('T', ' ')} UTC`,
  alarm_bdb_backup_size_changed: ({ threshold, bytes, previous_bytes }, name) =>
    `The size of backups of ${name} changed by more than a factor of ${limit(threshold)}: from ${format('bytes', Number(previous_bytes))} to ${format('bytes', Number(bytes))}`,
  alarm_node_cpu_utilization: ({ node_uid, threshold }) =>
    `The CPU usage of node ${node_uid} is above ${threshold}%`,
  alarm_node_memory: ({ node_uid, threshold }) =>
    `The memory of node ${node_uid} is more than ${threshold}% full`,
  alarm_node_net_throughput: ({ node_uid, threshold }) =>
    `Node ${node_uid} receives and sends more than ${format('bytes', Number(threshold))} per second`,
  alarm_node_persistent_storage: ({ node_uid, threshold }) =>
    `The storage of node ${node_uid} is more than ${threshold}% full`,
  alarm_node_free_flash: ({ node_uid, threshold }) =>
    `The flash of node ${node_uid} is more than ${threshold}% full`,
  alarm_cluster_too_few_nodes_for_replication: () =>
    'The cluster has fewer than two nodes: replicas require a second node',
  alarm_cluster_certs_about_to_expire: ({ ends }) =>
    `The certificate of the console ${endsOn(ends)}`,
  alarm_cluster_ca_cert_about_to_expire: ({ ends }) =>
    `The certificate of the console CA ${endsOn(ends)}`,
  alarm_node_internal_certs_about_to_expire: ({ node_uid, ends }) =>
    `The certificate of the agent of node ${node_uid} ${endsOn(ends)}`,
  alarm_unknown_shards: (alarm) =>
    `Node ${alarm.node_uid} has shards of databases that the console's store does not contain: ${shards(alarm)}. The console does not change them`,
  alarm_store_mismatch: ({ empty }, name) =>
    list(empty).length
      ? `Shards of ${name} and their data are missing: repair or delete the database`
      : `${name} differs from the state that the console has stored: repair the database`,
  alarm_flash_overcommit: ({ node_uid }) =>
    `The flash limits of the shards on node ${node_uid} exceed its flash`,
  alarm_console_lost: ({ host }) =>
    `Console ${host} is lost: it stopped unexpectedly, or cannot reach the store`,
  alarm_console_store_slow: ({ host }) =>
    `The store responds slowly to console ${host}: if it leads, another console may take over`,
  alarm_recovery_copies: ({ node_uid, reason }) =>
    `Node ${node_uid} does not have the newest copies for a rebuild of the console: ${reason}`,
  alarm_storage_full: ({ node_uid }) =>
    `The storage of node ${node_uid} is nearly full: shards can neither start nor persist data`,
};

export const ALARM_TYPES: readonly string[] = Object.keys(ALARM_TEXTS);

export function activeAlarm(alarm: LogEvent, names: ReadonlyMap<number, string>): ActiveAlarm {
  const { type, description, severity, bdb_uid: bdb, node_uid: node } = alarm;
  const name = bdb === undefined ? '' : (names.get(bdb) ?? `database ${bdb}`);
  return {
    type,
    // A newer console may raise alarms that this version of the web UI does not have.
    text: ALARM_TEXTS[type]?.(alarm, name) ?? description.replace(/\.$/, ''),
    severity,
    since: startOf(alarm),
    bdb,
    node,
  };
}
