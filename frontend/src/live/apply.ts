/** Puts stream changes into the query cache, many at a time. */
import type { QueryClient } from '@tanstack/react-query';
import { incidentsKey } from '@/api/incidents';
import { isOpen } from '@/api/story';
import type { LogEvent } from '@/api/types';
import { foldList, RULES, type Rules } from './fold';
import type { Change, ChangeKind } from './frames';

const KEYS = {
  bdb: ['bdbs'],
  node: ['nodes'],
  shard: ['shards'],
  action: ['actions'],
  event: ['events'],
} as const;

type ListKind = keyof typeof KEYS;

/** The page has no use for the cluster object yet, nor for kinds of a newer console. */
const isShown = (kind: ChangeKind): kind is ListKind => kind in KEYS;

export function applyChanges(client: QueryClient, changes: readonly Change[]): void {
  for (const kind of new Set(changes.map((change) => change.kind))) {
    const group = changes.filter((change) => change.kind === kind);
    if (isShown(kind)) fold(client, kind, group);
    if (kind === 'event') trimEvents(client);
    if (kind === 'event' || kind === 'outage') refreshIncidents(client);
  }
}

/** Resyncs are told of all the time: this often the console is asked what has become of the incidents. */
const INCIDENTS_MS = 500;
const due = new WeakSet<QueryClient>();

function refreshIncidents(client: QueryClient): void {
  if (due.has(client)) return;
  due.add(client);
  setTimeout(() => {
    due.delete(client);
    // A reply on its way may have been made before the change; cutting it short might never end.
    if (client.isFetching({ queryKey: incidentsKey })) refreshIncidents(client);
    else void client.invalidateQueries({ queryKey: incidentsKey });
  }, INCIDENTS_MS);
}

function fold(client: QueryClient, kind: ListKind, group: readonly Change[]): void {
  const queryKey = KEYS[kind];
  // A reply on its way was computed before this change and would undo it: folded over it when it comes. Asking
  // again instead would never end while changes pour in.
  if (client.getQueryState(queryKey)?.fetchStatus === 'fetching') wait(client, kind, group);
  client.setQueryData<readonly unknown[]>(queryKey, (list) => list && folded(kind, list, group));
}

function folded(
  kind: ListKind,
  list: readonly unknown[],
  group: readonly Change[],
): readonly unknown[] {
  const entries = group.map(({ uid, object }) => ({ id: String(uid), object }));
  // Which rules fit which objects is known by `kind`, which the type system cannot follow here.
  const rules = RULES[kind] as unknown as Rules<unknown>;
  return foldList(list, entries, rules, kind === 'event' ? 'prepend' : 'append');
}

/** Of the log: as many are kept once there are twice as many. */
const EVENTS_KEPT = 1_000;
const trimming = new WeakSet<QueryClient>();

/** The timeline and the log ask for what is older by themselves; they relied on the list for all that came since they asked. */
function trimEvents(client: QueryClient): void {
  const count = client.getQueryData<readonly LogEvent[]>(KEYS.event)?.length ?? 0;
  if (count < 2 * EVENTS_KEPT || trimming.has(client)) return;
  trimming.add(client);
  const asked = [['timeline'], ['log'], ['health']].map((queryKey) =>
    client.invalidateQueries({ queryKey }),
  );
  void Promise.all(asked).then(() => {
    client.setQueryData<readonly LogEvent[]>(
      KEYS.event,
      (list) =>
        list && [
          ...list.slice(0, EVENTS_KEPT),
          // What goes on is told of by its event, however old.
          ...list.slice(EVENTS_KEPT).filter(isOpen),
        ],
    );
    trimming.delete(client);
  });
}

/** Changes that came while a reply was on its way, by kind. */
const pending = new WeakMap<QueryClient, Map<ListKind, Change[]>>();

function wait(client: QueryClient, kind: ListKind, group: readonly Change[]): void {
  const waiting = pending.get(client) ?? attend(client);
  waiting.set(kind, [...(waiting.get(kind) ?? []), ...group]);
}

function attend(client: QueryClient): Map<ListKind, Change[]> {
  const waiting = new Map<ListKind, Change[]>();
  pending.set(client, waiting);
  client.getQueryCache().subscribe((event) => {
    if (event.type !== 'updated') return;
    const { action, query } = event;
    if (action.type !== 'error' && !(action.type === 'success' && !action.manual)) return;
    const kind = [...waiting.keys()].find((one) => query.queryKey.join() === KEYS[one].join());
    const group = kind && waiting.get(kind);
    if (!kind || !group) return;
    waiting.delete(kind);
    client.setQueryData<readonly unknown[]>(
      KEYS[kind],
      (list) => list && folded(kind, list, group),
    );
  });
  return waiting;
}

/** After every (re)connection: what changed while nobody listened. */
export function refreshObjects(client: QueryClient): void {
  void client.refetchQueries({
    type: 'active',
    predicate: ({ state }) => state.status === 'error',
  });
  for (const queryKey of [...Object.values(KEYS), ['timeline'], ['health'], incidentsKey]) {
    void client.invalidateQueries({ queryKey });
  }
}
