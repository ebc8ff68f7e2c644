/** Effects of a change as text, as far as they are known without a plan of the console. Pure functions. */
import type { Bdb, UpdateBdb } from '@/api/types';
import { format, plural } from '@/lib/format';

/** Fields whose change moves, creates, removes or replaces shards. */
const SHAPE = [
  'shards_count',
  'replication',
  'rack_aware',
  'shards_placement',
  'io_threads',
] as const;

/** Fields whose change has effects that are shown before it is saved. */
const WITH_EFFECTS = [...SHAPE, 'data_persistence', 'proxy_policy', 'tls_mode'] as const;

export const hasEffects = (body: UpdateBdb): boolean => WITH_EFFECTS.some((field) => field in body);

/** Whether the change disconnects clients, or requires them to connect differently. */
export const disconnectsClients = (body: UpdateBdb): boolean => 'tls_mode' in body;

export const changesShards = (body: UpdateBdb): boolean => SHAPE.some((field) => field in body);

export function changeEffects(bdb: Bdb, body: UpdateBdb): string[] {
  const changed = { ...bdb, ...body };
  const primaries = plural(bdb.shards_count, 'primary', 'primaries');
  return [
    ...(body.replication === true
      ? [`A replica of each of ${primaries} is created on another node.`]
      : []),
    ...(body.replication === false
      ? [
          `${plural(bdb.shards_count, 'replica')} ${bdb.shards_count === 1 ? 'is' : 'are'} removed. After this, no replica can take over if a node fails.`,
        ]
      : []),
    ...(body.rack_aware === true
      ? ['If both copies of the same data are in one zone, one of them moves to another zone.']
      : []),
    ...(body.rack_aware === false
      ? ['No shards move. Primary and replica can then be in the same zone.']
      : []),
    ...(body.shards_placement
      ? [
          body.shards_placement === 'sparse'
            ? 'Shards move until they are spread over as many nodes as possible.'
            : 'Shards move until they are on as few nodes as possible.',
        ]
      : []),
    ...(body.io_threads === undefined
      ? []
      : [
          'Shards with Valkey 9 apply the number of threads while they run. Shards with Valkey 8 are replaced one after another.',
        ]),
    ...memoryText(perShard(bdb), perShard(changed)),
    ...persistenceText(bdb, body),
    ...clientText(body),
  ];
}

function clientText(body: UpdateBdb): string[] {
  const tls = {
    enabled: [
      'Clients that are connected without TLS are disconnected. New connections require TLS.',
    ],
    disabled: ['The endpoint accepts unencrypted connections only. Clients must not use TLS.'],
  };
  return [
    ...(body.proxy_policy
      ? [
          'Addresses of the endpoint are added or removed. The Endpoint tab shows the addresses for clients.',
        ]
      : []),
    ...(tls[body.tls_mode as keyof typeof tls] ?? []),
  ];
}

function persistenceText(bdb: Bdb, body: UpdateBdb): string[] {
  if (body.data_persistence === undefined) return [];
  if (body.data_persistence === 'disabled') {
    return [
      'Data is kept in memory only. If a shard and its replica are both lost, their data is lost permanently.',
    ];
  }
  if (body.data_persistence === 'aof' && bdb.data_persistence !== 'aof') {
    return [
      'Each shard writes all its data to its append-only file; the shards of a node do this one after another. Shards can restart from these files only after all of them are complete.',
    ];
  }
  return [];
}

function perShard(bdb: Pick<Bdb, 'memory_size' | 'shards_count' | 'replication'>): number {
  return Math.floor(bdb.memory_size / (bdb.shards_count * (bdb.replication ? 2 : 1)));
}

function memoryText(before: number, after: number): string[] {
  if (before === after || !before || !after) return [];
  return [`Each shard can use ${format('bytes', after)} instead of ${format('bytes', before)}.`];
}
