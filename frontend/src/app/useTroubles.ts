/** Current problems, from the state of objects, active alarms and open incidents. */
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { bdbsQuery } from '@/api/bdbs';
import { useOpenAlarms } from '@/api/health';
import { isOver, useLatestIncidents } from '@/api/incidents';
import { nodesQuery } from '@/api/nodes';
import { shardsQuery } from '@/api/shards';
import { raisedAlarm } from '@/features/alarms/words';
import { type Trouble, troubles } from '@/features/overview/health';
import { databaseName } from '@/features/timeline/words';

export function useTroubles(): Trouble[] {
  const nodes = useQuery(nodesQuery).data;
  const shards = useQuery(shardsQuery).data;
  const bdbs = useQuery(bdbsQuery).data;
  const alarms = useOpenAlarms();
  const incidents = useLatestIncidents();
  return useMemo(() => {
    const names = new Map(bdbs?.map(({ uid, name }) => [uid, name]));
    const outages = (incidents ?? [])
      .filter((incident) => !isOver(incident))
      .map(({ uid, node_uid, shard_uid, databases, detected_ms, returned_ms, summary }) => ({
        uid,
        node: node_uid,
        shard: shard_uid,
        database: databases[0] && databaseName(databases[0]),
        from: detected_ms,
        to: returned_ms ?? null,
        consequences: summary,
      }));
    const raised = (alarms ?? []).map((alarm) => raisedAlarm(alarm, names));
    return troubles(nodes, shards, bdbs, outages, raised);
  }, [nodes, shards, bdbs, alarms, incidents]);
}
