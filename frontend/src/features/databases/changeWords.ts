/** What a change of shape means, as far as the page can tell by itself. Pure. */
import type { Bdb, UpdateBdb } from '@/api/types';
import { format, plural } from '@/lib/format';

/** Fields whose change moves, makes or removes shards, or may replace them. */
const SHAPE = ['shards_count', 'replication', 'shards_placement', 'io_threads'] as const;

/** Fields whose change has consequences that are said before it is saved. */
const TOLD = [...SHAPE, 'data_persistence', 'proxy_policy', 'tls_mode'] as const;

export const isTold = (body: UpdateBdb): boolean => TOLD.some((field) => field in body);

/** Some clients are disconnected, or have to connect in another way. */
export const cutsOff = (body: UpdateBdb): boolean => 'tls_mode' in body;

export const changesShape = (body: UpdateBdb): boolean => SHAPE.some((field) => field in body);

export function changeWords(bdb: Bdb, body: UpdateBdb): string[] {
  const wanted = { ...bdb, ...body };
  const primaries = plural(bdb.shards_count, 'primary', 'primaries');
  return [
    ...(body.replication === true
      ? [`A replica of each of ${primaries} is made, on another node than its primary.`]
      : []),
    ...(body.replication === false
      ? [
          `${plural(bdb.shards_count, 'replica')} ${bdb.shards_count === 1 ? 'is' : 'are'} removed: nothing takes over when a node is lost.`,
        ]
      : []),
    ...(body.shards_placement
      ? [
          body.shards_placement === 'sparse'
            ? 'Shards move until they are spread over as many nodes as possible.'
            : 'Shards move until they are packed on as few nodes as possible.',
        ]
      : []),
    ...(body.io_threads === undefined
      ? []
      : [
          'Shards of Valkey 9 take the number of threads while they run; those of Valkey 8 are replaced one after the other.',
        ]),
    ...memoryWords(perShard(bdb), perShard(wanted)),
    ...persistenceWords(bdb, body),
    ...clientWords(body),
  ];
}

function clientWords(body: UpdateBdb): string[] {
  const tls = {
    enabled: [
      'Clients that are connected without TLS are disconnected, and nobody can connect without it.',
    ],
    disabled: ['The endpoint serves unencrypted connections only; clients must not ask for TLS.'],
  };
  return [
    ...(body.proxy_policy
      ? [
          'Addresses of the endpoint come or go; the tab Endpoint has those that clients should use.',
        ]
      : []),
    ...(tls[body.tls_mode as keyof typeof tls] ?? []),
  ];
}

function persistenceWords(bdb: Bdb, body: UpdateBdb): string[] {
  if (body.data_persistence === undefined) return [];
  if (body.data_persistence === 'disabled') {
    return ['Data live in memory only: a shard that is lost with its replica is lost for good.'];
  }
  if (body.data_persistence === 'aof' && bdb.data_persistence !== 'aof') {
    return [
      'Each shard writes all its data to a file once, one after the other on each node; until all are done, nothing on disk counts.',
    ];
  }
  return [];
}

function perShard(bdb: Pick<Bdb, 'memory_size' | 'shards_count' | 'replication'>): number {
  return Math.floor(bdb.memory_size / (bdb.shards_count * (bdb.replication ? 2 : 1)));
}

function memoryWords(before: number, after: number): string[] {
  if (before === after || !before || !after) return [];
  return [`Each shard may use ${format('bytes', after)} instead of ${format('bytes', before)}.`];
}
