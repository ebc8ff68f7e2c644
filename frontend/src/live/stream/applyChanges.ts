/** Batched application of stream changes to the query cache. */
import type { QueryClient } from '@tanstack/react-query';
import { isOpen } from '@/api/failures/eventSpans';
import { incidentsKey } from '@/api/failures/incidents';
import type { LogEvent } from '@/api/types';
import type { Change, ChangeKind } from './frames';
import { MERGE_RULES, type MergeRules, mergeChanges } from './mergeChanges';

const KEYS = {
  bdb: ['bdbs'],
  node: ['nodes'],
  shard: ['shards'],
  action: ['actions'],
  backup: ['backups'],
  restore: ['restores'],
  event: ['events'],
} as const;

type ListKind = keyof typeof KEYS;

/**
 * Whether objects of a kind are cached. The cluster object is not used, and newer consoles may send
 * other kinds.
 */
const isCached = (kind: ChangeKind): kind is ListKind => kind in KEYS;

export function applyChanges(client: QueryClient, changes: readonly Change[]): void {
  for (const kind of new Set(changes.map((change) => change.kind))) {
    const group = changes.filter((change) => change.kind === kind);
    if (isCached(kind)) mergeIntoCache(client, kind, group);
    if (kind === 'event') trimEvents(client);
    if (kind === 'event' || kind === 'outage') refreshIncidents(client);
  }
}

/** Delay before incidents are refetched. Limits the request rate, because resyncs cause frequent events. */
const INCIDENT_REFETCH_MS = 500;
const scheduled = new WeakSet<QueryClient>();

function refreshIncidents(client: QueryClient): void {
  if (scheduled.has(client)) return;
  scheduled.add(client);
  setTimeout(() => {
    scheduled.delete(client);
    // The reply to a running request can predate the change. Wait for it instead of cancelling it,
    // because frequent changes could cancel every request.
    if (client.isFetching({ queryKey: incidentsKey })) refreshIncidents(client);
    else void client.invalidateQueries({ queryKey: incidentsKey });
  }, INCIDENT_REFETCH_MS);
}

function mergeIntoCache(client: QueryClient, kind: ListKind, group: readonly Change[]): void {
  const queryKey = KEYS[kind];
  // The reply to a running request can predate the change and would undo it, so the change is applied
  // to the reply as well. Sending the request again would never end while changes arrive.
  if (client.getQueryState(queryKey)?.fetchStatus === 'fetching') addPending(client, kind, group);
  client.setQueryData<readonly unknown[]>(
    queryKey,
    (list) => list && mergedList(kind, list, group),
  );
}

function mergedList(
  kind: ListKind,
  list: readonly unknown[],
  group: readonly Change[],
): readonly unknown[] {
  const entries = group.map(({ uid, object }) => ({ id: String(uid), object }));
  // `kind` determines the rules and the object type, but the type system cannot derive this.
  const rules = MERGE_RULES[kind] as unknown as MergeRules<unknown>;
  return mergeChanges(list, entries, rules, kind === 'event' ? 'prepend' : 'append');
}

/** Number of events that remain after trimming. The list is trimmed when it has twice as many. */
const MAX_EVENTS = 1_000;
const trimming = new WeakSet<QueryClient>();

/**
 * Remove old events from the list. The timeline and the event log fetch older events themselves but
 * rely on the list for events since their last request, so they are refetched first.
 */
function trimEvents(client: QueryClient): void {
  const count = client.getQueryData<readonly LogEvent[]>(KEYS.event)?.length ?? 0;
  if (count < 2 * MAX_EVENTS || trimming.has(client)) return;
  trimming.add(client);
  const refetched = [['timeline'], ['log'], ['health']].map((queryKey) =>
    client.invalidateQueries({ queryKey }),
  );
  void Promise.all(refetched).then(() => {
    client.setQueryData<readonly LogEvent[]>(
      KEYS.event,
      (list) =>
        list && [
          ...list.slice(0, MAX_EVENTS),
          // Open events represent a current state and are kept regardless of their age.
          ...list.slice(MAX_EVENTS).filter(isOpen),
        ],
    );
    trimming.delete(client);
  });
}

/** Changes that arrived during a request, by kind. */
const pending = new WeakMap<QueryClient, Map<ListKind, Change[]>>();

function addPending(client: QueryClient, kind: ListKind, group: readonly Change[]): void {
  const pendingChanges = pending.get(client) ?? trackReplies(client);
  pendingChanges.set(kind, [...(pendingChanges.get(kind) ?? []), ...group]);
}

function trackReplies(client: QueryClient): Map<ListKind, Change[]> {
  const pendingChanges = new Map<ListKind, Change[]>();
  pending.set(client, pendingChanges);
  client.getQueryCache().subscribe((event) => {
    if (event.type !== 'updated') return;
    const { action, query } = event;
    if (action.type !== 'error' && !(action.type === 'success' && !action.manual)) return;
    const kind = [...pendingChanges.keys()].find(
      (candidate) => query.queryKey.join() === KEYS[candidate].join(),
    );
    const group = kind && pendingChanges.get(kind);
    if (!kind || !group) return;
    pendingChanges.delete(kind);
    client.setQueryData<readonly unknown[]>(
      KEYS[kind],
      (list) => list && mergedList(kind, list, group),
    );
  });
  return pendingChanges;
}

/** Refetch all lists after a (re)connection, because changes were missed. */
export function refreshObjects(client: QueryClient): void {
  void client.refetchQueries({
    type: 'active',
    predicate: ({ state }) => state.status === 'error',
  });
  for (const queryKey of [...Object.values(KEYS), ['timeline'], ['health'], incidentsKey]) {
    void client.invalidateQueries({ queryKey });
  }
}
