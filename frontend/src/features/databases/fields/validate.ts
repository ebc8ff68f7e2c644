/** Rules of the console for database settings, so that the form can show errors before a request is sent. Pure functions. */
import { format, plural } from '@/lib/format';
import type { CreateDraft } from '../create/createDraft';
import { memoryBytes, processCount } from '../create/createDraft';
import { ramBytes, SHARD_RAM_MIN } from './flashMemory';

export interface ValidationContext {
  /** Nodes that can take shards. */
  nodes: number;
  /** Ports that other databases use. */
  ports: readonly number[];
  /** Number of these nodes that have flash. */
  flashNodes: number;
  /** Whether another database has the name. */
  nameTaken: boolean;
}

export type FieldErrors = Partial<Record<string, string>>;

export const PORT_MIN = 10_000;
export const PORT_MAX = 19_999;
export const PORT_RESERVED = 10_050;
export const SHARDS_MAX = 512;
export const TAGS_MAX = 30;
export const MEMORY_MAX = 2 ** 50;
/** The console also checks the number of cores of the nodes. */
export const THREADS_MAX = 128;
export const CONNECTIONS_MAX = 1_000_000;
/** Minimum in bytes: an empty shard uses almost this much memory. */
export const SHARD_MEMORY_MIN = 3 * 2 ** 20;

export const NAME_TAKEN = 'Another database has this name.';

export function nameError(name: string): string | undefined {
  if (!name) return 'Enter a name.';
  if (name.length > 63) return `At most 63 characters; this name has ${name.length}.`;
  if (!/^[A-Za-z0-9-]+$/.test(name)) return 'Use only letters, digits, and hyphens.';
  if (/^-|-$/.test(name)) return 'The name must start and end with a letter or digit.';
  return undefined;
}

/** `shards` includes replicas. */
export function memoryError(bytes: number, shards: number): string | undefined {
  if (!Number.isFinite(bytes) || bytes < 0 || bytes > MEMORY_MAX) {
    return 'Enter a number from 0 (no limit) to 1024 TiB.';
  }
  const least = shards * SHARD_MEMORY_MIN;
  if (bytes > 0 && bytes < least) {
    return `At least ${format('bytes', least)} for ${plural(shards, 'shard')}, replicas included.`;
  }
  return undefined;
}

export function passwordError(password: string): string | undefined {
  if (/^[!-~]{0,512}$/.test(password)) return undefined;
  return 'Use up to 512 printable ASCII characters without spaces.';
}

export function tagsError(tags: readonly { key: string; value: string }[]): string | undefined {
  if (tags.length > TAGS_MAX) return `Use at most ${TAGS_MAX} tags.`;
  if (tags.some(({ key }) => !key)) return 'Every tag needs a key.';
  if (tags.some(({ key }) => key.length > 64)) return 'Tag keys have at most 64 characters.';
  if (tags.some(({ value }) => value.length > 128))
    return 'Tag values have at most 128 characters.';
  if (new Set(tags.map(({ key }) => key)).size < tags.length) return 'Tag keys must be unique.';
  return undefined;
}

function portError(text: string, usedPorts: readonly number[]): string | undefined {
  if (!text.trim()) return undefined;
  const port = /^\d+$/.test(text.trim()) ? Number(text) : Number.NaN;
  if (!Number.isInteger(port) || port < PORT_MIN || port > PORT_MAX) {
    return `Enter a number from ${PORT_MIN} to ${PORT_MAX}, or leave the field empty.`;
  }
  if (port === PORT_RESERVED) return `Port ${PORT_RESERVED} is reserved.`;
  if (usedPorts.includes(port)) return `Port ${port} is used by another database.`;
  return undefined;
}

export function shardsError(
  draft: Pick<CreateDraft, 'sharding' | 'shards_count'>,
): string | undefined {
  if (!draft.sharding) return undefined;
  const count = draft.shards_count;
  if (typeof count !== 'number' || !Number.isInteger(count) || count < 1 || count > SHARDS_MAX) {
    return `Enter a whole number from 1 to ${SHARDS_MAX}.`;
  }
  return undefined;
}

export function threadsError(threads: number | string | undefined): string | undefined {
  if (threads === '' || threads === undefined) return undefined;
  const isInteger = typeof threads === 'number' && Number.isInteger(threads);
  if (isInteger && threads >= 1 && threads <= THREADS_MAX) return undefined;
  return `Enter a whole number from 1 (off) to ${THREADS_MAX}.`;
}

/** An empty value is valid: the default limit applies. */
export function connectionsError(count: number | string): string | undefined {
  if (count === '') return undefined;
  const isInteger = typeof count === 'number' && Number.isInteger(count);
  if (isInteger && count >= 1 && count <= CONNECTIONS_MAX) return undefined;
  return 'Enter a whole number from 1 to 1,000,000.';
}

/** `shards` includes replicas. */
export function ramError(bytes: number, shards: number): string | undefined {
  const least = shards * SHARD_RAM_MIN;
  if (!(bytes > 0) || bytes >= least) return undefined;
  return `At least ${format('bytes', least)} of RAM for ${plural(shards, 'shard')}, replicas included.`;
}

function flashError(draft: CreateDraft, nodes: number): string | undefined {
  if (!draft.flash || nodes >= (draft.replication ? 2 : 1)) return undefined;
  const required = draft.replication ? 'two nodes' : 'a node';
  return `The database requires ${required} with flash. Start agents with --flash.`;
}

/** Return errors by field name of the REST API. */
export function validate(draft: CreateDraft, context: ValidationContext): FieldErrors {
  const replication =
    draft.replication && context.nodes < 2
      ? `Replication requires at least two nodes that accept shards. Available: ${context.nodes}.`
      : undefined;
  const found: FieldErrors = {
    name:
      nameError(draft.name) ??
      (context.nameTaken && draft.accepted_name !== draft.name ? NAME_TAKEN : undefined),
    port: portError(draft.port, context.ports),
    memory_size:
      draft.flash && !memoryBytes(draft)
        ? 'A database on flash requires a memory limit for RAM and flash together.'
        : memoryError(memoryBytes(draft), processCount(draft)),
    bigstore: flashError(draft, context.flashNodes),
    bigstore_ram_size: draft.flash
      ? ramError(ramBytes(memoryBytes(draft), draft.ram_percent), processCount(draft))
      : undefined,
    shards_count: shardsError(draft),
    io_threads: threadsError(draft.io_threads),
    tags: tagsError(draft.tags),
    authentication_redis_pass: passwordError(draft.password),
    replication,
  };
  return Object.fromEntries(Object.entries(found).filter(([, error]) => error));
}
