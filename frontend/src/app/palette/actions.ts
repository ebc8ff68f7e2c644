/** Entries of the command palette for actions. Actions that the user's role does not allow are omitted. Pure. */
import { promotableReplicas } from '@/api/databases/shards';
import type { Bdb, Shard } from '@/api/types';
import type { DatabaseDialogName } from '@/features/databases/header/DatabaseDialog';
import type { Entry, Target } from './entry';

export interface ActionInput {
  bdbs: readonly Bdb[];
  shards: readonly Shard[];
  may: (permission: 'edit' | 'create' | 'administer') => boolean;
  /** Whether the cluster has a node that can take shards. */
  hasNodes: boolean;
}

export function actionEntries(input: ActionInput): Entry[] {
  const { bdbs, shards, may, hasNodes } = input;
  return [
    ...(may('create') && hasNodes ? [CREATE] : []),
    ...(may('administer') ? [ADD_NODE] : []),
    ...(may('edit') ? [RUN_BENCHMARK] : []),
    ...PREFERENCES,
    ...(may('edit') ? [...bdbs.flatMap(databaseActions), ...switchOvers(bdbs, shards)] : []),
  ];
}

const action = (
  id: string,
  name: string,
  keywords: string,
  target: Target,
  part: Partial<Entry> = {},
): Entry => ({ id, kind: 'action', name, detail: 'action', keywords, target, ...part });

const CREATE = action('create', 'Create database', 'new add', { link: { to: '/databases/new' } });
const ADD_NODE = action('add-node', 'Add node…', 'join new', { dialog: { name: 'addNode' } });
const RUN_BENCHMARK = action('benchmark', 'Run benchmark', 'new start load test', {
  link: { to: '/benchmarks/new' },
});

const preference = (id: string, name: string, keywords: string, target: Target) =>
  action(id, name, keywords, target, { needsText: true });

const SCHEME = 'color scheme mode';
const PREFERENCES: readonly Entry[] = [
  preference('theme-light', 'Use the light theme', SCHEME, { theme: 'light' }),
  preference('theme-dark', 'Use the dark theme', SCHEME, { theme: 'dark' }),
  preference('theme-auto', 'Use the theme of the system', SCHEME, { theme: 'auto' }),
  preference('zone-local', 'Show times in local time', 'time zone', { zone: 'local' }),
  preference('zone-utc', 'Show times in UTC', 'time zone', { zone: 'utc' }),
];

/** Return the actions that the state of a database allows. */
function databaseActions(bdb: Bdb): Entry[] {
  const { uid, name, status, traffic_manually_disabled: isStopped } = bdb;
  // Temporary databases of verifications are removed automatically.
  if (bdb.internal) return [];
  const isActive = status === 'active';
  const entry = (id: string, title: string, keywords: string, target: Target) =>
    action(`${id}-${uid}`, title, keywords, target, { needsText: true });
  const dialog = (id: DatabaseDialogName, title: string, keywords: string) =>
    entry(id, title, keywords, { dialog: { name: 'database', dialog: id, bdb } });
  const active = [
    isStopped
      ? dialog('resume', `Resume traffic to ${name}…`, 'start enable')
      : dialog('stop', `Stop traffic to ${name}…`, 'pause disable disconnect'),
    entry('backup', `Back up ${name}…`, 'start backup create', { dialog: { name: 'backUp', bdb } }),
    entry('benchmark', `Run benchmark on ${name}`, 'start load test', {
      link: { to: '/benchmarks/new', search: { bdb: uid } },
    }),
    dialog('rebalance', `Rebalance ${name}…`, 'move shards'),
    dialog('upgrade', `Upgrade the engine of ${name}…`, 'version'),
    dialog('flush', `Flush ${name}…`, 'empty delete keys'),
  ];
  const configuration = { to: '/databases/$uid/configuration', params: { uid: String(uid) } };
  return [
    ...(isActive ? active : []),
    entry('configuration', `Configure ${name}`, 'edit settings', { link: configuration }),
    ...(status === 'delete-pending' ? [] : [dialog('delete', `Delete ${name}…`, 'remove')]),
  ];
}

/** Return the switchovers of all primaries with a replica that can take over. */
function switchOvers(bdbs: readonly Bdb[], shards: readonly Shard[]): Entry[] {
  const active = new Set(bdbs.flatMap(({ uid, status }) => (status === 'active' ? uid : [])));
  return shards
    .filter(({ role, bdb_uid }) => role === 'master' && active.has(bdb_uid))
    .flatMap((primary) => {
      const [replica] = promotableReplicas(primary, shards);
      if (!replica) return [];
      const name = `Switch over redis:${primary.uid}…`;
      const target: Target = { dialog: { name: 'switchOver', primary, replica } };
      return action(`switch-over-${primary.uid}`, name, 'fail over failover promote', target, {
        perShard: true,
        needsText: true,
      });
    });
}
