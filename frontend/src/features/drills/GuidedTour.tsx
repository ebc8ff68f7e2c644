/** On the demo: the shortest way to see what happens when a node goes down, each step explained as it happens. */
import { Button } from '@mantine/core';
import { IconCircle, IconCircleCheck, IconFlask, IconLoader } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useDrillSince, useRunningDrills } from '@/api/actions';
import { bdbsQuery, rebalance } from '@/api/bdbs';
import { useMayDrill } from '@/api/drills';
import { messageOf } from '@/api/http';
import { useIncidents } from '@/api/incidents';
import { nodesQuery } from '@/api/nodes';
import { isPrimary, useNodeShards } from '@/api/shards';
import { StatusIcon } from '@/ui/Status';
import { DrillDialog } from './DrillDialog';
import classes from './drills.module.css';
import { incidentSince, stepsOf } from './tour';
import { beginTour, endTour, useTour } from './useTour';

const NODE = 2;
const DATABASE = 'demo';

/** The offer, and the tour itself once it is taken. */
export function GuidedTour({ onStarted }: { onStarted: () => void }) {
  const since = useTour();
  const offered = useTourOffered();
  if (since !== null) return <Tour since={since} />;
  if (!offered) return null;
  const begin = (ordered: number) => {
    beginTour(ordered);
    onStarted();
  };
  return <Offer onStarted={begin} />;
}

/** Only while it goes on. */
export function RunningTour() {
  const since = useTour();
  return since === null ? null : <Tour since={since} />;
}

function Offer({ onStarted }: { onStarted: (ordered: number) => void }) {
  const [open, setOpen] = useState(false);
  const shards = useNodeShards(NODE).data;
  const isIdle = shards !== undefined && !shards.some(isPrimary);
  return (
    <section className={classes.tour} aria-label="Guided tour">
      <IconFlask size={20} stroke={1.6} aria-hidden />
      <div>
        <h2>Guided tour: reboot node {NODE}</h2>
        <p>
          Watch replicas take over and the node come back while the traffic goes on. Nothing outside
          this demo is touched.
        </p>
        {isIdle && <Rebalance />}
      </div>
      <Button variant="default" onClick={() => setOpen(true)}>
        Begin…
      </Button>
      {open && <DrillDialog node={NODE} onClose={() => setOpen(false)} onStarted={onStarted} />}
    </section>
  );
}

/** Without primaries there is nothing that could fail over. */
function Rebalance() {
  const bdb = useQuery(bdbsQuery).data?.find(({ name }) => name === DATABASE);
  const [said, setSaid] = useState<string>();
  if (!bdb) return null;
  const order = async () => {
    setSaid('Ordered…');
    try {
      const { description } = await rebalance(bdb.uid, true);
      setSaid(description);
    } catch (error) {
      setSaid(messageOf(error));
    }
  };
  return (
    <p className={classes.first}>
      Node {NODE} has no primaries now, so nothing would fail over. Rebalance {DATABASE} first.{' '}
      <Button size="compact-xs" variant="default" onClick={order}>
        Rebalance
      </Button>{' '}
      <span role="status">{said}</span>
    </p>
  );
}

function Tour({ since }: { since: number }) {
  const incident = incidentSince(useIncidents() ?? [], NODE, since);
  const isOver = incident?.state === 'over';
  const drill = useDrillSince(NODE, since);
  // Then nothing goes down, and the first step would be waited for in vain.
  const failed = !incident && (drill?.status === 'failed' || drill?.status === 'cancelled');
  const why = drill?.additional_info?.error?.replace(/[^.!?]$/, '$&.');
  const steps = stepsOf(NODE, incident);
  const now = steps.findIndex(({ outcome }) => outcome === undefined);
  return (
    <section className={classes.running} aria-label="Guided tour">
      <header>
        <IconFlask size={20} stroke={1.6} aria-hidden />
        <h2>Guided tour: reboot node {NODE}</h2>
        {incident && (
          <Link to="/timeline/incident/$uid" params={{ uid: String(incident.uid) }}>
            {isOver ? 'Open the report' : 'Look at the incident'}
          </Link>
        )}
        <Button variant="default" size="compact-sm" onClick={endTour}>
          {isOver ? 'Done' : 'End tour'}
        </Button>
      </header>
      {failed && (
        <p role="alert" className={classes.failed}>
          <StatusIcon tone="broken" />
          <span>
            The drill was {drill.status === 'failed' ? 'not carried out' : 'cancelled'}
            {why ? `: ${why}` : '.'} End the tour and begin again.
          </span>
        </p>
      )}
      <ol aria-live="polite">
        {steps.map(({ title, what, outcome }, index) => (
          <li key={title} data-state={outcome ? 'done' : index === now ? 'now' : 'later'}>
            <StepIcon isDone={outcome !== undefined} isNow={index === now} />
            <div>
              <strong>{title}</strong>
              {(outcome !== undefined || index === now) && <p>{what}</p>}
              {outcome && <p className={classes.outcome}>{outcome}</p>}
            </div>
          </li>
        ))}
      </ol>
      {isOver && (
        <p>
          That was all. The primaries that failed over still lead on other nodes; the overview
          offers to hand them back. The incident's page has all figures, as a report to take along.
        </p>
      )}
    </section>
  );
}

function StepIcon({ isDone, isNow }: { isDone: boolean; isNow: boolean }) {
  if (isDone) return <IconCircleCheck size={18} aria-label="done" className={classes.done} />;
  return isNow ? (
    <IconLoader size={18} aria-label="now" />
  ) : (
    <IconCircle size={18} aria-label="later" className="dim" />
  );
}

/** Where drills are allowed and none runs, on a cluster with the demo's database, while its node is up. */
export function useTourOffered(): boolean {
  const isIdle = useTour() === null;
  const may = useMayDrill();
  const busy = useRunningDrills().length > 0;
  const bdbs = useQuery(bdbsQuery).data;
  const node = useQuery(nodesQuery).data?.find(({ uid }) => uid === NODE);
  const demo = bdbs?.some(({ name, status }) => name === DATABASE && status === 'active');
  return (
    isIdle &&
    may &&
    !busy &&
    demo === true &&
    node?.status === 'active' &&
    node.agent_status === 'connected'
  );
}
