/** Banner with data that could not be loaded, and a retry button. Earlier data stays visible. */
import { Button } from '@mantine/core';
import { notifyManager, type Query, useQueryClient } from '@tanstack/react-query';
import { useCallback, useSyncExternalStore } from 'react';
import { ApiError, messageOf } from '@/api/http';
import { StatusIcon } from '@/ui/Status';
import classes from './Frame.module.css';

const DATA_NAMES: Record<string, string> = {
  bdbs: 'databases',
  availability: 'the availability',
  'cost-model': 'the prices',
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
  'cluster-settings': 'the cluster settings',
  'shard-diagnostics': 'engine data of the shard',
  'hot-slots': 'hot slots',
  'endpoint-commands': 'endpoint commands',
  'ram-curve': 'the RAM estimate',
  redis_acls: 'access lists',
  roles: 'roles',
  snapshots: 'snapshots',
  alerts: 'alert thresholds',
  scenarios: 'the scenarios',
  'scenario-runs': 'the scenario runs',
};

/** Statuses for a missing session, permission or object, which the component with the query reports. */
const EXPECTED = new Set([401, 403, 404]);
/** Queries that are often refused. The component with the query reports the error. */
const REPORTED_ELSEWHERE = new Set(['shard-diagnostics', 'hot-slots', 'ram-curve']);

/** Return whether a query for the content of the page has failed. Refused previews are reported by their dialogs. */
export function isFailure(query: Query): boolean {
  const { status, error } = query.state;
  if (status !== 'error' || !query.isActive()) return false;
  if (!(error instanceof ApiError) || error.status >= 500) return true;
  const key = String(query.queryKey[0]);
  return key in DATA_NAMES && !REPORTED_ELSEWHERE.has(key) && !EXPECTED.has(error.status);
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

export function LoadErrors() {
  const failed = useFailures();
  const [first] = failed;
  if (!first) return null;
  const names = [
    ...new Set(failed.map(({ queryKey }) => DATA_NAMES[String(queryKey[0])] ?? 'some data')),
  ];
  const failedData =
    names.length > 1 ? `${names.slice(0, -1).join(', ')} and ${names.at(-1)}` : names[0];
  return (
    <div className={classes.banner} data-tone="attention">
      <StatusIcon tone="attention" />
      <span>
        Could not load {failedData}. {messageOf(first.state.error)}
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
