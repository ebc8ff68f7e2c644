/** Edits of a database: form fields, the request and conflicts. Pure functions. */
import { PROXY_POLICIES } from '@/api/databases/endpoints';
import type { Bdb, UpdateBdb } from '@/api/types';
import { changedFields, conflictingFields, type Edit } from '@/lib/edits';
import { format } from '@/lib/format';
import type { Conflict } from '@/ui/forms/Conflicts';
import {
  DURABILITY,
  type Durability,
  durabilityFields,
  durabilityOf,
  type MemoryUnit,
  memoryBytes,
  splitMemory,
} from '../create/createDraft';
import { ramBytes, ramPercent } from '../fields/flashMemory';

export interface Editable {
  name: string;
  memory: { memory: number | string; memory_unit: MemoryUnit };
  ram_percent: number;
  eviction_policy: Bdb['eviction_policy'];
  /** Empty if the current setting is not one of the choices. */
  durability: Durability | '';
  shards_count: number | string;
  replication: boolean;
  rack_aware: boolean;
  shards_placement: Bdb['shards_placement'];
  io_threads: number | string;
  proxy_policy: Bdb['proxy_policy'];
  /** If empty, the default limit of the proxy applies. */
  max_connections: number | string;
  maxclients: number | string;
  tls_mode: 'enabled' | 'disabled';
  slave_ha: boolean;
  disabled_commands: string;
  tags: NonNullable<Bdb['tags']>;
}

export type Field = keyof Editable;

/** Edited fields on top of the live object. */
export type BdbEdit = Edit<Editable>;

export const LABELS: Readonly<Record<Field, string>> = {
  name: 'Name',
  memory: 'Memory limit',
  ram_percent: 'RAM limit in percent',
  eviction_policy: 'Eviction policy',
  durability: 'Persistence',
  shards_count: 'Number of shards',
  replication: 'Replication',
  rack_aware: 'Rack-zone awareness',
  shards_placement: 'Shard placement',
  io_threads: 'I/O threads per shard',
  proxy_policy: 'Database proxy',
  max_connections: 'Connections per proxy',
  maxclients: 'Connections per shard',
  tls_mode: 'TLS',
  slave_ha: 'Replica HA',
  disabled_commands: 'Disabled commands',
  tags: 'Tags',
};

export const editableFields = (bdb: Bdb): Editable => ({
  name: bdb.name,
  memory: splitMemory(bdb.memory_size),
  ram_percent: ramPercent(bdb),
  eviction_policy: bdb.eviction_policy,
  durability: durabilityOf(bdb) ?? '',
  shards_count: bdb.shards_count,
  replication: bdb.replication,
  rack_aware: Boolean(bdb.rack_aware),
  shards_placement: bdb.shards_placement,
  io_threads: bdb.io_threads,
  proxy_policy: bdb.proxy_policy,
  max_connections: Number(bdb.max_connections) || '',
  maxclients: Number(bdb.maxclients) || '',
  tls_mode: bdb.tls_mode === 'enabled' ? 'enabled' : 'disabled',
  slave_ha: Boolean(bdb.slave_ha),
  disabled_commands: String(bdb.disabled_commands ?? ''),
  tags: bdb.tags ?? [],
});

const NUMBERS: ReadonlySet<Field> = new Set(['io_threads', 'max_connections', 'maxclients']);

/** Return the fields that differ from the current database. */
export function updateRequest(edit: BdbEdit, bdb: Bdb): UpdateBdb {
  const { patch } = edit;
  const live = editableFields(bdb);
  const body: UpdateBdb = {};
  for (const field of changedFields(edit, live)) {
    if (field === 'memory') body.memory_size = memoryBytes(patch.memory ?? live.memory);
    else if (field === 'ram_percent') {
      const memory = patch.memory ? memoryBytes(patch.memory) : bdb.memory_size;
      body.bigstore_ram_size = ramBytes(memory, patch.ram_percent ?? live.ram_percent);
    } else if (field === 'shards_count') body.shards_count = Number(patch.shards_count);
    else if (field === 'durability') {
      if (patch.durability) Object.assign(body, durabilityFields(patch.durability));
    }
    // An empty value becomes 0: the console chooses, or the default limit applies.
    else if (NUMBERS.has(field)) Object.assign(body, { [field]: Number(patch[field]) });
    else Object.assign(body, { [field]: patch[field] });
  }
  return body;
}

export function conflictsOf(edit: BdbEdit, bdb: Bdb): Conflict[] {
  const live = editableFields(bdb);
  return conflictingFields(edit, live).map((field) => ({
    label: LABELS[field],
    before: text(edit.seen[field], field),
    now: text(live[field], field),
    edited: text(edit.patch[field], field),
  }));
}

function text(value: Editable[Field] | undefined, field: Field): string {
  if (field === 'proxy_policy') {
    return PROXY_POLICIES.find((policy) => policy.value === value)?.label ?? String(value);
  }
  if (field === 'tls_mode') return value === 'enabled' ? 'on' : 'off';
  if (field === 'durability') {
    return DURABILITY.find((choice) => choice.value === value)?.label ?? 'Custom snapshot rules';
  }
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  if (Array.isArray(value)) {
    return value.map(({ key, value: tag }) => `${key}: ${tag}`).join(', ') || 'none';
  }
  if (typeof value === 'object') return format('bytes', memoryBytes(value));
  return String(value ?? '');
}
