/** What of this page could not be read, and a button that asks again; what was read before stays. */
import { Button } from '@mantine/core';
import { notifyManager, type Query, useQueryClient } from '@tanstack/react-query';
import { useCallback, useSyncExternalStore } from 'react';
import { ApiError, messageOf } from '@/api/http';
import { StatusIcon } from '@/ui/Status';
import classes from './Frame.module.css';

const WORDS: Record<string, string> = {
  bdbs: 'databases',
  nodes: 'nodes',
  shards: 'shards',
  actions: 'actions',
  events: 'events',
  log: 'events',
  health: 'alarms',
  timeline: 'the timeline',
  incidents: 'incidents',
  'incidents-past': 'incidents',
  history: 'stored metrics',
  endpoint: 'the endpoint',
  proxies: 'proxies',
  users: 'users',
  webhooks: 'webhooks',
  policy: 'the policy',
  'policy-rules': 'the policy',
  'cluster-settings': 'the settings of the cluster',
  'shard-looks': 'the inside of the shard',
  'hot-slots': 'hot slots',
  'endpoint-commands': 'commands of the endpoint',
  'ram-curve': 'the prediction of RAM',
  redis_acls: 'rules',
  roles: 'roles',
  snapshots: 'snapshots',
  alerts: 'alerts',
};

/** No session, not allowed, not there: told where it was asked. */
const EXPECTED = new Set([401, 403, 404]);
/** Asked of one shard or slot by slot: refused often, and told in place. */
const TOLD_IN_PLACE = new Set(['shard-looks', 'hot-slots', 'ram-curve']);

/** What of a page's own content could not be had. That a question about something that is only considered was refused, is told there. */
export function isFailure(query: Query): boolean {
  const { status, error } = query.state;
  if (status !== 'error' || !query.isActive()) return false;
  if (!(error instanceof ApiError) || error.status >= 500) return true;
  const key = String(query.queryKey[0]);
  return key in WORDS && !TOLD_IN_PLACE.has(key) && !EXPECTED.has(error.status);
}

function useFailures(): readonly Query[] {
  const cache = useQueryClient().getQueryCache();
  const failed = useCallback(() => cache.getAll().filter(isFailure), [cache]);
  useSyncExternalStore(
    useCallback((listener) => cache.subscribe(notifyManager.batchCalls(listener)), [cache]),
    () =>
      failed()
        .map(({ queryHash, state }) => `${queryHash}${state.fetchStatus}`)
        .join(),
  );
  return failed();
}

export function Failures() {
  const failed = useFailures();
  const [first] = failed;
  if (!first) return null;
  const names = [...new Set(failed.map(({ queryKey }) => WORDS[String(queryKey[0])] ?? 'a part'))];
  const what = names.length > 1 ? `${names.slice(0, -1).join(', ')} and ${names.at(-1)}` : names[0];
  return (
    <div className={classes.banner} data-tone="attention">
      <StatusIcon tone="attention" />
      <span>
        Could not be read: {what}. {messageOf(first.state.error)}
      </span>
      <Button
        size="compact-xs"
        variant="default"
        loading={failed.some(({ state }) => state.fetchStatus === 'fetching')}
        onClick={() => {
          for (const query of failed) void query.fetch().catch(() => undefined);
        }}
      >
        Try again
      </Button>
    </div>
  );
}
