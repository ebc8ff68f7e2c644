/** Presets of the create form. Pure functions. */
import { type CreateDraft, EMPTY_DRAFT } from './createDraft';

export interface Preset {
  id: string;
  label: string;
  description: string;
  /** All other settings get their defaults. */
  settings: Partial<CreateDraft>;
}

export const PRESETS: readonly Preset[] = [
  {
    id: 'cache',
    label: 'Cache',
    description:
      'Evicts the least recently used keys when memory is full. No replicas and no persistence, for data that can be loaded again.',
    settings: { eviction_policy: 'allkeys-lru' },
  },
  {
    id: 'durable',
    label: 'Durable',
    description:
      'Replicas on other nodes and an append-only file. No key is evicted: writes fail when memory is full.',
    settings: { replication: true, durability: 'aof-second', eviction_policy: 'noeviction' },
  },
  {
    id: 'large',
    label: 'Large (flash)',
    description:
      'Keeps rarely used values on flash. Three primaries with replicas. Requires nodes with flash.',
    settings: {
      flash: true,
      replication: true,
      sharding: true,
      shards_count: 3,
      eviction_policy: 'allkeys-lru',
    },
  },
  {
    id: 'benchmark',
    label: 'Benchmark',
    description:
      'Three primaries with the cluster API, spread over the nodes. No replicas, no persistence, and no eviction, so that they do not affect the results.',
    settings: {
      sharding: true,
      shards_count: 3,
      oss_cluster: true,
      shards_placement: 'sparse',
      proxy_policy: 'all-master-shards',
      eviction_policy: 'noeviction',
    },
  },
];

/** Fields that a preset keeps: they identify the database, or depend on its data and its clients. */
const KEPT = [
  'name',
  'accepted_name',
  'port',
  'tags',
  'memory',
  'memory_unit',
  'password',
  'tls',
  'between_nodes',
] as const satisfies readonly (keyof CreateDraft)[];

/** Return the draft with the settings of a preset. Settings of another preset do not remain. */
export function applyPreset(draft: CreateDraft, { settings }: Preset): CreateDraft {
  const kept = Object.fromEntries(
    KEPT.filter((field) => draft[field] !== undefined).map((field) => [field, draft[field]]),
  );
  return { ...EMPTY_DRAFT, ...kept, ...settings };
}

/** Return the preset whose settings the draft has; undefined if the user changed one. */
export const presetOf = (draft: CreateDraft): Preset | undefined =>
  PRESETS.find((preset) => {
    const expected = applyPreset(draft, preset);
    const fields = new Set([...Object.keys(draft), ...Object.keys(expected)]);
    return [...fields].every((field) => isSame(draft, expected, field as keyof CreateDraft));
  });

/** A setting that is missing is off. */
const isSame = (a: CreateDraft, b: CreateDraft, field: keyof CreateDraft): boolean =>
  (a[field] ?? false) === (b[field] ?? false);
