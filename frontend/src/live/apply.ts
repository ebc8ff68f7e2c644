/** Puts stream changes into the query cache, many at a time. */
import type { QueryClient } from '@tanstack/react-query';
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
  }
}

function fold(client: QueryClient, kind: ListKind, group: readonly Change[]): void {
  const queryKey = KEYS[kind];
  const entries = group.map(({ uid, object }) => ({ id: String(uid), object }));
  // Which rules fit which objects is known by `kind`, which the type system cannot follow here.
  const rules = RULES[kind] as unknown as Rules<unknown>;
  client.setQueryData<readonly unknown[]>(queryKey, (list) =>
    list ? foldList(list, entries, rules, kind === 'event' ? 'prepend' : 'append') : list,
  );
  // A reply on its way was computed before this change and would undo it: ask once more.
  if (client.getQueryState(queryKey)?.fetchStatus === 'fetching') {
    void client.invalidateQueries({ queryKey });
  }
}

/** After every (re)connection: what changed while nobody listened. */
export function refreshObjects(client: QueryClient): void {
  for (const queryKey of [...Object.values(KEYS), ['timeline']]) {
    void client.invalidateQueries({ queryKey });
  }
}
