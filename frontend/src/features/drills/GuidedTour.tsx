/** On the demo: the shortest way to see what happens when a node goes down. */
import { Button } from '@mantine/core';
import { IconFlask } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useRunningDrills } from '@/api/actions';
import { bdbsQuery } from '@/api/bdbs';
import { useMayDrill } from '@/api/drills';
import { nodesQuery } from '@/api/nodes';
import { DrillDialog } from './DrillDialog';
import classes from './drills.module.css';

const NODE = 2;
const DATABASE = 'demo';

export function GuidedTour({ onStarted }: { onStarted: () => void }) {
  const [open, setOpen] = useState(false);
  const offered = useTourOffered();
  if (!offered) return null;
  return (
    <section className={classes.tour} aria-label="Guided tour">
      <IconFlask size={20} stroke={1.6} aria-hidden />
      <div>
        <h2>Guided tour: reboot node {NODE}</h2>
        <p>
          Watch replicas take over and the node come back while the traffic goes on. Nothing outside
          this demo is touched.
        </p>
      </div>
      <Button variant="default" onClick={() => setOpen(true)}>
        Begin…
      </Button>
      {open && <DrillDialog node={NODE} onClose={() => setOpen(false)} onStarted={onStarted} />}
    </section>
  );
}

/** Where drills are allowed and none runs, on a cluster with the demo's database, while its node is up. */
export function useTourOffered(): boolean {
  const may = useMayDrill();
  const busy = useRunningDrills().length > 0;
  const bdbs = useQuery(bdbsQuery).data;
  const node = useQuery(nodesQuery).data?.find(({ uid }) => uid === NODE);
  const demo = bdbs?.some(({ name, status }) => name === DATABASE && status === 'active');
  return (
    may && !busy && demo === true && node?.status === 'active' && node.agent_status === 'connected'
  );
}
