/** What is wrong right now, from the objects, the alarms that are raised and the outages that go on. */
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { bdbsQuery } from '@/api/bdbs';
import { useOpenAlarms } from '@/api/health';
import { nodesQuery } from '@/api/nodes';
import { shardsQuery } from '@/api/shards';
import { raisedAlarm } from '@/features/overview/alarmWords';
import { type Trouble, troubles } from '@/features/overview/health';
import { useOngoing } from '@/features/timeline/useOngoing';
import { consequences } from '@/features/timeline/words';

export function useTroubles(): Trouble[] {
  const nodes = useQuery(nodesQuery).data;
  const shards = useQuery(shardsQuery).data;
  const bdbs = useQuery(bdbsQuery).data;
  const alarms = useOpenAlarms();
  const ongoing = useOngoing();
  return useMemo(() => {
    const names = new Map(bdbs?.map(({ uid, name }) => [uid, name]));
    const outages = ongoing.map((incident) => ({
      uid: incident.event.uid,
      node: incident.node,
      from: incident.from,
      to: incident.to,
      consequences: consequences(incident),
    }));
    const raised = (alarms ?? []).map((alarm) => raisedAlarm(alarm, names));
    return troubles(nodes, shards, bdbs, outages, raised);
  }, [nodes, shards, bdbs, alarms, ongoing]);
}
