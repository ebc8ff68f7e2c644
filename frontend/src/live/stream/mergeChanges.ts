/**
 * Pure application of stream changes to cached lists. Unchanged lists and elements keep their
 * identity, so React renders only differences. An older object never replaces a newer one, because
 * replies of the REST API and the stream can overtake each other.
 */
import type { Action, Backup, Bdb, LogEvent, Node, Restore, Shard } from '@/api/types';

export interface ListChange<T> {
  id: string;
  object: T | null;
}

export interface MergeRules<T> {
  id: (item: T) => string;
  /** Whether `next` is older than the known object and must be ignored. */
  stale: (current: T, next: T) => boolean;
}

const older = (current: string | undefined, next: string | undefined): boolean =>
  current !== undefined && next !== undefined && Date.parse(next) < Date.parse(current);

const DONE = new Set(['completed', 'failed', 'cancelled']);

interface Finishable {
  finished_at: string | null;
}

const reopens = (current: Finishable, next: Finishable): boolean =>
  current.finished_at !== null && next.finished_at === null;

export const MERGE_RULES = {
  bdb: {
    id: (bdb: Bdb) => String(bdb.uid),
    stale: (current: Bdb, next: Bdb) => older(current.last_changed_time, next.last_changed_time),
  },
  node: {
    id: (node: Node) => String(node.uid),
    stale: (current: Node, next: Node) => older(current.last_seen, next.last_seen),
  },
  shard: {
    id: (shard: Shard) => String(shard.uid),
    stale: (current: Shard, next: Shard) => older(current.report_timestamp, next.report_timestamp),
  },
  action: {
    id: (action: Action) => action.action_uid,
    stale: (current: Action, next: Action) => DONE.has(current.status) && !DONE.has(next.status),
  },
  backup: {
    id: (backup: Backup) => String(backup.uid),
    stale: (current: Backup, next: Backup) => reopens(current, next),
  },
  restore: {
    id: (restore: Restore) => String(restore.uid),
    stale: (current: Restore, next: Restore) => reopens(current, next),
  },
  event: {
    id: (event: LogEvent) => String(event.uid),
    stale: () => false,
  },
} satisfies Record<string, MergeRules<never>>;

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

export function mergeChanges<T>(
  list: readonly T[],
  entries: readonly ListChange<T>[],
  rules: MergeRules<T>,
  order: 'append' | 'prepend' = 'append',
): readonly T[] {
  const last = new Map<string, ListChange<T>>();
  for (const entry of entries) {
    const before = last.get(entry.id);
    const isStale = before?.object && entry.object && rules.stale(before.object, entry.object);
    if (!isStale) last.set(entry.id, entry);
  }
  let changed = false;
  const merged: T[] = [];
  for (const item of list) {
    const entry = last.get(rules.id(item));
    last.delete(rules.id(item));
    if (!entry) merged.push(item);
    else if (!entry.object) changed = true;
    else if (rules.stale(item, entry.object) || same(item, entry.object)) merged.push(item);
    else {
      merged.push(entry.object);
      changed = true;
    }
  }
  const added = [...last.values()].flatMap(({ object }) => (object === null ? [] : [object]));
  if (!changed && !added.length) return list;
  return order === 'append' ? [...merged, ...added] : [...added.reverse(), ...merged];
}
