/** State of the create form: defaults, the request and the equivalent curl command. Pure functions. */
import { createPath } from '@/api/databases/bdbs';
import type { Bdb, CreateBdb, Tag } from '@/api/types';
import { RAM_PERCENT_MIN, ramBytes } from '../fields/flashMemory';

export const MEMORY_UNITS = { MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 } as const;
export type MemoryUnit = keyof typeof MEMORY_UNITS;

export interface CreateDraft {
  name: string;
  /** The name that the user wants to use although another database has it. Drafts of an earlier release do not have this field. */
  accepted_name?: string;
  /** As typed. If empty, the console chooses. */
  port: string;
  memory: number | string;
  memory_unit: MemoryUnit;
  flash: boolean;
  /** Percentage of a flash database's memory that can be RAM. */
  ram_percent: number;
  eviction_policy: CreateBdb['eviction_policy'] & string;
  replication: boolean;
  /** Drafts of an earlier release do not have this field. */
  rack_aware?: boolean;
  sharding: boolean;
  shards_count: number | string;
  oss_cluster: boolean;
  shards_placement: 'dense' | 'sparse';
  proxy_policy: NonNullable<CreateBdb['proxy_policy']>;
  /** If empty, the console chooses. */
  io_threads: number | string;
  durability: Durability;
  password: string;
  tls: boolean;
  between_nodes: InternodeEncryption;
  tags: Tag[];
}

/** Whether traffic between shards and proxies is encrypted; `policy` uses the cluster policy. */
export type InternodeEncryption = 'policy' | 'encrypted' | 'clear';

export const INTERNODE_ENCRYPTION: readonly { value: InternodeEncryption; label: string }[] = [
  { value: 'policy', label: 'Use the cluster policy' },
  { value: 'encrypted', label: 'Encrypted' },
  { value: 'clear', label: 'Unencrypted, for trusted networks' },
];

export type Durability = 'none' | 'aof-always' | 'aof-second' | 'snap-1' | 'snap-6' | 'snap-12';

export const DURABILITY: readonly { value: Durability; label: string }[] = [
  { value: 'none', label: 'None' },
  { value: 'aof-second', label: 'Append-only file, written every second' },
  { value: 'aof-always', label: 'Append-only file, every write' },
  { value: 'snap-1', label: 'Snapshot every hour' },
  { value: 'snap-6', label: 'Snapshot every 6 hours' },
  { value: 'snap-12', label: 'Snapshot every 12 hours' },
];

export const EVICTION_POLICIES = [
  'volatile-lru',
  'volatile-ttl',
  'volatile-random',
  'volatile-lfu',
  'allkeys-lru',
  'allkeys-random',
  'allkeys-lfu',
  'noeviction',
] as const;

/** The standard hash tag rules: hash the part of a key in braces, otherwise the complete key. */
export const STANDARD_HASHING = [{ regex: '.*\\{(?<tag>.*)\\}.*' }, { regex: '(?<tag>.*)' }];

export const EMPTY_DRAFT: CreateDraft = {
  name: '',
  port: '',
  memory: 1,
  memory_unit: 'GiB',
  flash: false,
  ram_percent: RAM_PERCENT_MIN,
  eviction_policy: 'volatile-lru',
  replication: false,
  sharding: false,
  shards_count: 1,
  oss_cluster: false,
  shards_placement: 'dense',
  proxy_policy: 'single',
  io_threads: '',
  durability: 'none',
  password: '',
  tls: false,
  between_nodes: 'policy',
  tags: [],
};

export const memoryBytes = (draft: Pick<CreateDraft, 'memory' | 'memory_unit'>): number =>
  draft.memory === ''
    ? Number.NaN
    : Math.round(Number(draft.memory) * MEMORY_UNITS[draft.memory_unit]);

/** Return the number of shards, including replicas. */
export const processCount = (
  draft: Pick<CreateDraft, 'sharding' | 'shards_count' | 'replication'>,
) => (draft.sharding ? Number(draft.shards_count) || 1 : 1) * (draft.replication ? 2 : 1);

/** Return bytes as an amount in the largest unit that gives at least 1; MiB if none does. */
export function splitMemory(bytes: number): Pick<CreateDraft, 'memory' | 'memory_unit'> {
  const unit = (['TiB', 'GiB'] as const).find((name) => bytes >= MEMORY_UNITS[name]) ?? 'MiB';
  return { memory: Number((bytes / MEMORY_UNITS[unit]).toFixed(4)), memory_unit: unit };
}

/** Apply a change to the draft. Some fields change others, as in the Redis Enterprise UI. */
export function changeDraft(draft: CreateDraft, part: Partial<CreateDraft>): CreateDraft {
  const next = { ...draft, ...part };
  if (part.oss_cluster) {
    next.sharding = true;
    next.shards_placement = 'sparse';
    next.proxy_policy = 'all-master-shards';
  }
  if (part.sharding === false) {
    next.oss_cluster = false;
    next.shards_count = 1;
  }
  if (next.oss_cluster && next.proxy_policy === 'single') next.proxy_policy = 'all-master-shards';
  const turnedOn = next.sharding && !draft.sharding;
  if (turnedOn && Number(draft.shards_count) === 1) next.shards_count = 3;
  return next;
}

/** Return the durability of a database; undefined if it is not one of the choices, for example with several snapshot rules. */
export function durabilityOf(bdb: Bdb): Durability | undefined {
  if (bdb.data_persistence === 'disabled') return 'none';
  if (bdb.data_persistence === 'aof') {
    return bdb.aof_policy === 'appendfsync-always' ? 'aof-always' : 'aof-second';
  }
  const [rule, ...others] = bdb.snapshot_policy ?? [];
  if (!rule || others.length || rule.writes !== 1) return undefined;
  const choice = `snap-${rule.secs / 3600}`;
  return DURABILITY.find(({ value }) => value === choice)?.value;
}

export function durabilityFields(choice: Durability): Partial<CreateBdb> {
  if (choice === 'none') return { data_persistence: 'disabled' };
  if (choice === 'aof-always') {
    return { data_persistence: 'aof', aof_policy: 'appendfsync-always' };
  }
  if (choice === 'aof-second') {
    return { data_persistence: 'aof', aof_policy: 'appendfsync-every-sec' };
  }
  const hours = Number(choice.split('-')[1]);
  return { data_persistence: 'snapshot', snapshot_policy: [{ secs: hours * 3600, writes: 1 }] };
}

export function toRequest(draft: CreateDraft): CreateBdb {
  return {
    name: draft.name,
    ...(draft.port.trim() ? { port: Number(draft.port) } : {}),
    memory_size: memoryBytes(draft),
    ...(draft.flash
      ? { bigstore: true, bigstore_ram_size: ramBytes(memoryBytes(draft), draft.ram_percent) }
      : {}),
    eviction_policy: draft.eviction_policy,
    replication: draft.replication,
    ...(draft.replication && draft.rack_aware ? { rack_aware: true } : {}),
    sharding: draft.sharding,
    shards_count: draft.sharding ? Number(draft.shards_count) : 1,
    ...(draft.sharding ? { shard_key_regex: STANDARD_HASHING } : {}),
    shards_placement: draft.shards_placement,
    oss_cluster: draft.oss_cluster,
    proxy_policy: draft.proxy_policy,
    // Drafts that an earlier release stored do not have this field.
    ...(draft.io_threads ? { io_threads: Number(draft.io_threads) } : {}),
    ...durabilityFields(draft.durability),
    ...(draft.password ? { authentication_redis_pass: draft.password } : {}),
    ...(draft.tls ? { tls_mode: 'enabled' } : {}),
    // Drafts that an earlier release stored do not have this field.
    ...(draft.between_nodes && draft.between_nodes !== 'policy'
      ? { data_internode_encryption: draft.between_nodes === 'encrypted' }
      : {}),
    ...(draft.tags.length ? { tags: draft.tags } : {}),
  };
}

/** Return the request as a curl command. Passwords are always placeholders. */
export function toCurl(draft: CreateDraft, origin: string): string {
  const body = toRequest(draft);
  if (body.authentication_redis_pass) body.authentication_redis_pass = '<database-password>';
  const url = `${origin}${createPath(draft.accepted_name === draft.name)}`;
  const json = JSON.stringify(body, null, 2).replaceAll("'", "'\\''");
  return [
    'curl -k -X POST -u "<user>:<password>" \\',
    '  -H "Content-Type: application/json" \\',
    `  ${url.includes('?') ? `'${url}'` : url} -d '${json}'`,
  ].join('\n');
}
