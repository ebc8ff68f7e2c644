/** Entries of the command palette for the current user and cluster. */
import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { usePermission } from '@/api/access/session';
import { eventSearchQuery } from '@/api/alerting/events';
import { benchmarksQuery } from '@/api/benchmarks';
import { nodesQuery } from '@/api/cluster/nodes';
import { shownBdbsQuery } from '@/api/databases/bdbs';
import { shardsQuery } from '@/api/databases/shards';
import { useIncidents } from '@/api/failures/incidents';
import { consoleNow } from '@/lib/time';
import { useZone } from '@/ui/useZone';
import { actionEntries } from './actions';
import type { Entry } from './entry';
import {
  databaseEntries,
  eventEntries,
  incidentEntries,
  nodeEntries,
  runEntries,
  shardEntries,
} from './objects';
import { pageEntries } from './pages';

export function usePaletteEntries(): Entry[] {
  const bdbs = useQuery(shownBdbsQuery).data;
  const nodes = useQuery(nodesQuery).data;
  const shards = useQuery(shardsQuery).data;
  const runs = useQuery(benchmarksQuery).data;
  const incidents = useIncidents();
  const zone = useZone();
  const edit = usePermission('edit');
  const create = usePermission('create');
  const administer = usePermission('administer');
  const manageUsers = usePermission('manageUsers');
  return useMemo(() => {
    const permissions = { edit, create, administer, manageUsers };
    const may = (permission: keyof typeof permissions) => permissions[permission];
    const input = {
      bdbs: bdbs ?? [],
      shards: shards ?? [],
      hasNodes: (nodes ?? []).length > 0,
      may,
    };
    return [
      ...databaseEntries(bdbs ?? []),
      ...nodeEntries(nodes ?? []),
      ...actionEntries(input),
      ...pageEntries(may),
      ...runEntries(runs ?? [], zone),
      ...incidentEntries(incidents ?? [], consoleNow(), zone),
      ...shardEntries(shards ?? [], bdbs ?? []),
    ];
  }, [bdbs, nodes, shards, runs, incidents, zone, edit, create, administer, manageUsers]);
}

/** Minimum text length for a search of the log, delay after the last key in milliseconds, and maximum number of events. */
const [MIN_LENGTH, DEBOUNCE_MS, MAX_EVENTS] = [3, 250, 5];

/** Return the events that contain the text, and whether the search is still running. */
export function useEventEntries(text: string): { events: Entry[]; isPending: boolean } {
  const zone = useZone();
  const [debounced] = useDebouncedValue(text, DEBOUNCE_MS);
  const isSearched = usePermission('readLog') && text.length >= MIN_LENGTH;
  const isCurrent = debounced === text;
  const { data, isFetching } = useQuery({
    ...eventSearchQuery(debounced, MAX_EVENTS),
    enabled: isSearched && isCurrent,
  });
  const events = useMemo(
    () => (isSearched && isCurrent ? eventEntries(debounced, data ?? [], zone) : []),
    [isSearched, isCurrent, debounced, data, zone],
  );
  return { events, isPending: isSearched && (isFetching || !isCurrent) };
}
