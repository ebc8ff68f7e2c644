/** Settings of a database as groups of facts. */
import type { ReactNode } from 'react';
import { PROXY_POLICIES } from '@/api/databases/endpoints';
import type { Bdb } from '@/api/types';
import { format, formatExact } from '@/lib/format';
import { duration } from '@/lib/time';
import { Stamp } from '@/ui/Ago';
import type { Fact } from '@/ui/Facts';
import { endpointOf, shardsText } from '../status';

export interface SettingGroup {
  title: string;
  facts: Fact[];
}

const onOff = (value: unknown): string => (value ? 'On' : 'Off');

export function settingGroups(bdb: Bdb): SettingGroup[] {
  const endpoint = endpointOf(bdb);
  return [
    {
      title: 'General',
      facts: [
        ['Name', bdb.name],
        ['ID', bdb.uid],
        ['Endpoint', endpoint ? `${endpoint.host}:${endpoint.port}` : ''],
        ['Redis compatibility', bdb.version || bdb.redis_version],
        ['Tags', (bdb.tags ?? []).map(({ key, value }) => `${key}: ${value}`).join(', ')],
        ['Created', <Stamp key="created" time={bdb.created_time} />],
        ['Last changed', <Stamp key="changed" time={bdb.last_changed_time} />],
      ],
    },
    {
      title: 'Capacity',
      facts: [
        ['Runs on', bdb.bigstore ? 'Flash' : 'RAM'],
        ['Memory limit', memory(bdb.memory_size)],
        ...(bdb.bigstore ? [['RAM limit', memory(bdb.bigstore_ram_size)] satisfies Fact] : []),
        ['Eviction policy', bdb.eviction_policy],
        ['I/O threads per shard', threads(bdb.io_threads)],
        ...connectionLimits(bdb),
      ],
    },
    {
      title: 'High availability',
      facts: [
        ['Replication', onOff(bdb.replication)],
        ['Replica HA', onOff(bdb.slave_ha)],
        ['Rack-zone awareness', onOff(bdb.rack_aware)],
      ],
    },
    {
      title: 'Clustering',
      facts: [
        ['Sharding', onOff(bdb.sharding)],
        ['Shards', shardsText(bdb)],
        ['Shard placement', bdb.shards_placement],
        ['OSS Cluster API', onOff(bdb.oss_cluster)],
        ['Database proxy', proxy(bdb.proxy_policy)],
        ['Hash slots', String(bdb.hash_slots_policy ?? '16k')],
      ],
    },
    {
      title: 'Durability',
      facts: [
        ['Persistence', persistence(bdb)],
        ['Backup', onOff(bdb.backup)],
      ],
    },
    {
      title: 'Access',
      facts: [
        [
          'Password',
          bdb.authentication ? 'Set' : 'None: anyone who can reach the port can use the database',
        ],
        ['Default user', onOff(bdb.default_user ?? true)],
        [
          'Roles with access',
          bdb.roles_permissions?.length ? String(bdb.roles_permissions.length) : 'None',
        ],
        ['TLS', onOff(bdb.tls_mode === 'enabled')],
        ['Disabled commands', String(bdb.disabled_commands || 'None')],
        [
          'Encryption between nodes',
          bdb.data_internode_encryption
            ? 'Encrypted'
            : 'Unencrypted: anyone who can reach the ports of the shards can connect to them',
        ],
      ],
    },
  ];
}

/** Return the limit of client connections per proxy, and the limit of the engine per shard. */
function connectionLimits(bdb: Bdb): Fact[] {
  const [proxy, shard] = [Number(bdb.max_connections), Number(bdb.maxclients)];
  return [
    ['Connections per proxy', proxy ? proxy.toLocaleString('en-US') : '10,000 (default)'],
    ['Connections per shard', shard ? shard.toLocaleString('en-US') : ''],
  ];
}

function memory(bytes: number): ReactNode {
  if (!bytes) return 'No limit';
  return <span title={formatExact('bytes', bytes)}>{format('bytes', bytes)}</span>;
}

/** The count includes the main thread, so 1 means that there are no additional threads. */
function threads(count: number | undefined): string {
  return (count ?? 1) > 1 ? String(count) : 'Off';
}

function proxy(policy: string): string {
  return PROXY_POLICIES.find(({ value }) => value === policy)?.label ?? policy;
}

function persistence(bdb: Bdb): string {
  if (bdb.data_persistence === 'aof') {
    const always = bdb.aof_policy === 'appendfsync-always';
    return `Append-only file, ${always ? 'every write' : 'written every second'}`;
  }
  if (bdb.data_persistence === 'snapshot') {
    const rules = (bdb.snapshot_policy ?? []).map(({ secs }) => `every ${duration(secs)}`);
    return `Snapshot ${rules.join(', ')}`.trim();
  }
  return 'None: data is kept in memory only';
}

/** Return the database with its secrets masked, so that they are not visible on screen. */
export function maskSecrets(bdb: Bdb): Record<string, unknown> {
  const hidden = (key: string, value: unknown) =>
    /pass|secret|client_key/.test(key) && typeof value === 'string' && value !== '';
  const masked = Object.fromEntries(
    Object.entries(bdb).map(([key, value]) => [key, hidden(key, value) ? '•••' : value]),
  );
  // Live changes do not contain the password, so it is masked if authentication is on.
  return bdb.authentication ? { ...masked, authentication_redis_pass: '•••' } : masked;
}
