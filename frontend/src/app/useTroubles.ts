/** What is wrong right now, from the objects and from the outages that go on. */
import { useQuery } from '@tanstack/react-query';
import { bdbsQuery } from '@/api/bdbs';
import { nodesQuery } from '@/api/nodes';
import { shardsQuery } from '@/api/shards';
import { type Trouble, troubles } from '@/features/overview/health';
import { useOngoing } from '@/features/timeline/useOngoing';
import { consequences } from '@/features/timeline/words';

export function useTroubles(): Trouble[] {
  const nodes = useQuery(nodesQuery).data;
  const shards = useQuery(shardsQuery).data;
  const bdbs = useQuery(bdbsQuery).data;
  const outages = useOngoing().map((incident) => ({
    uid: incident.event.uid,
    node: incident.node,
    from: incident.from,
    to: incident.to,
    consequences: consequences(incident),
  }));
  return troubles(nodes, shards, bdbs, outages);
}
