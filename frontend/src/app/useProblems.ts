/** Current problems, from the state of objects, active alarms and open incidents. */
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { nodesQuery } from '@/api/cluster/nodes';
import { shownBdbsQuery } from '@/api/databases/bdbs';
import { shardsQuery } from '@/api/databases/shards';
import { isEnded, useLatestIncidents } from '@/api/failures/incidents';
import { activeAlarm } from '@/features/alarms/alarmText';
import { useAlarms } from '@/features/alarms/useAlarms';
import { findProblems, type Problem } from '@/features/overview/problems';
import { databaseName } from '@/features/timeline/incidents/incidentText';

export function useProblems(): Problem[] {
  const nodes = useQuery(nodesQuery).data;
  const shards = useQuery(shardsQuery).data;
  const bdbs = useQuery(shownBdbsQuery).data;
  const alarms = useAlarms()?.open;
  const incidents = useLatestIncidents();
  return useMemo(() => {
    const names = new Map(bdbs?.map(({ uid, name }) => [uid, name]));
    const outages = (incidents ?? [])
      .filter((incident) => !isEnded(incident))
      .map(({ uid, node_uid, shard_uid, databases, detected_ms, returned_ms, summary }) => ({
        uid,
        node: node_uid,
        shard: shard_uid,
        database: databases[0] && databaseName(databases[0]),
        from: detected_ms,
        to: returned_ms ?? null,
        consequences: summary,
      }));
    const raised = (alarms ?? []).map((alarm) => activeAlarm(alarm, names));
    return findProblems(nodes, shards, bdbs, outages, raised);
  }, [nodes, shards, bdbs, alarms, incidents]);
}
