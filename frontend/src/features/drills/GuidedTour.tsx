/** Guided tour of the demo: reboots a node and explains each step of the failover as it happens. */
import { Button } from '@mantine/core';
import {
  IconAlertTriangle,
  IconCircle,
  IconCircleCheck,
  IconCircleMinus,
  IconFlask,
  IconLoader,
} from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useDrillSince, useRunningDrills } from '@/api/cluster/actions';
import { nodesQuery } from '@/api/cluster/nodes';
import { bdbsQuery, rebalance } from '@/api/databases/bdbs';
import { isPrimary, useNodeShards } from '@/api/databases/shards';
import { useCanStartDrill } from '@/api/failures/drills';
import { useIncidents } from '@/api/failures/incidents';
import { messageOf } from '@/api/http';
import { useLive } from '@/live/LiveProvider';
import { useNow } from '@/ui/Ago';
import { SubmitButton } from '@/ui/forms/SubmitButton';
import { StatusIcon } from '@/ui/Status';
import { DrillDialog } from './DrillDialog';
import classes from './drills.module.css';
import { type BusiestNode, incidentSince, type Step, tourSteps } from './tour';
import { endTour, startTour, type TourStart, useTour } from './useTour';

const NODE = 2;
const DATABASE = 'demo';
/** Seconds before a step whose CPU usage counts as well. */
const CPU_BEFORE_SECONDS = 5;

/** Offer of the tour, or the tour itself while it is running. */
export function GuidedTour({ onStarted }: { onStarted: () => void }) {
  const tour = useTour();
  const isTourAvailable = useTourAvailable();
  if (tour !== null) return <Tour {...tour} />;
  if (!isTourAvailable) return null;
  const start = (since: number, seconds: number) => {
    startTour({ since, seconds });
    onStarted();
  };
  return <TourOffer onStarted={start} />;
}

/** The tour, only while it is running. */
export function RunningTour() {
  const tour = useTour();
  return tour === null ? null : <Tour {...tour} />;
}

function TourOffer({ onStarted }: { onStarted: (since: number, seconds: number) => void }) {
  const [open, setOpen] = useState(false);
  const shards = useNodeShards(NODE).data;
  const isIdle = shards !== undefined && !shards.some(isPrimary);
  return (
    <section className={classes.tour} aria-label="Guided tour">
      <IconFlask size={20} stroke={1.6} aria-hidden />
      <div>
        <h2>Guided tour: reboot node {NODE}</h2>
        <p>
          Watch how replicas are promoted and how the node recovers while clients continue to send
          requests. The tour affects only this demo.
        </p>
        {isIdle && <Rebalance />}
      </div>
      <Button variant="default" onClick={() => setOpen(true)}>
        Start tour…
      </Button>
      {open && <DrillDialog node={NODE} onClose={() => setOpen(false)} onStarted={onStarted} />}
    </section>
  );
}

/**
 * Button that moves primaries to the node. Without primaries on the node, the tour would show no
 * failover.
 */
function Rebalance() {
  const bdb = useQuery(bdbsQuery).data?.find(({ name }) => name === DATABASE);
  const [message, setMessage] = useState<string>();
  if (!bdb) return null;
  const submit = async () => {
    setMessage('Requesting…');
    try {
      const { description } = await rebalance(bdb.uid, true);
      setMessage(description);
    } catch (error) {
      setMessage(messageOf(error));
    }
  };
  return (
    <p className={classes.first}>
      Node {NODE} has no primaries, so no shard would fail over. Rebalance {DATABASE} first.{' '}
      <SubmitButton size="compact-xs" variant="default" onClick={submit}>
        Rebalance
      </SubmitButton>{' '}
      <span role="status">{message}</span>
    </p>
  );
}

function Tour({ since, seconds }: TourStart) {
  const now = useNow();
  const incident = incidentSince(useIncidents() ?? [], NODE, since);
  const isOver = incident?.state === 'over';
  const drill = useDrillSince(NODE, since);
  // The node does not go down after a failed drill, so the first step would never complete.
  const failed = !incident && (drill?.status === 'failed' || drill?.status === 'cancelled');
  const reason = drill?.additional_info?.error?.replace(/[^.!?]$/, '$&.');
  const busiest = useBusiestNode();
  const steps = tourSteps(NODE, incident, { now, drillSeconds: seconds, busiest });
  const current = steps.findIndex(({ outcome }) => outcome === undefined);
  const missed = steps.filter(({ isMissed }) => isMissed).length;
  return (
    <section className={classes.running} aria-label="Guided tour">
      <header>
        <IconFlask size={20} stroke={1.6} aria-hidden />
        <h2>Guided tour: reboot node {NODE}</h2>
        {incident && (
          <Link to="/activity/incidents/$uid" params={{ uid: String(incident.uid) }}>
            {isOver ? 'Open report' : 'Open incident'}
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
            The drill {drill.status === 'failed' ? 'failed' : 'was canceled'}
            {reason ? `: ${reason}` : '.'} End the tour and start again.
          </span>
        </p>
      )}
      <ol aria-live="polite">
        {steps.map((step, index) => (
          <TourStep key={step.title} step={step} isNow={index === current} />
        ))}
      </ol>
      {missed > 0 && (
        <p className={classes.failed}>
          <StatusIcon tone="attention" />
          <span>
            {missed} of {steps.length} steps did not meet expectations. The page of the incident
            shows when each step took place.
          </span>
        </p>
      )}
      {isOver && (
        <p>
          The tour is complete. The promoted replicas on other nodes are still primaries. To switch
          back, use the button on the overview. The incident page contains all measurements and a
          report to download.
        </p>
      )}
    </section>
  );
}

function TourStep({ step, isNow }: { step: Step; isNow: boolean }) {
  const { title, explanation, promise, outcome, isMissed, reason } = step;
  const isDone = outcome !== undefined;
  return (
    <li data-state={isDone ? 'done' : isNow ? 'now' : 'later'} data-missed={isMissed || undefined}>
      <StepIcon step={step} isNow={isNow} />
      <div>
        <strong>{title}</strong>
        {isNow && <p>{explanation}</p>}
        {outcome && <p className={classes.outcome}>{outcome}</p>}
        <p>
          {isMissed ? 'Not as expected: ' : 'Expected: '}
          {promise}.
        </p>
        {reason && <p>{reason}</p>}
      </div>
    </li>
  );
}

/** Return a function that finds the node with the highest mean CPU usage between two instants. */
function useBusiestNode(): (from: number, to: number) => BusiestNode | undefined {
  const live = useLive();
  const nodes = useQuery(nodesQuery).data ?? [];
  return (from, to) => {
    const ring = live.ring('nodes');
    const [first, last] = [Math.floor(from / 1000) - CPU_BEFORE_SECONDS, Math.floor(to / 1000)];
    return nodes
      .map(({ uid }) => ({
        node: uid,
        share: meanBusy(ring.read(String(uid), 'cpu_idle', first, last)),
      }))
      .filter(({ share }) => !Number.isNaN(share))
      .sort((a, b) => b.share - a.share)[0];
  };
}

function meanBusy(idle: Float64Array): number {
  const known = idle.filter((value) => !Number.isNaN(value));
  return known.length
    ? 1 - known.reduce((sum, value) => sum + value, 0) / known.length
    : Number.NaN;
}

function StepIcon({ step, isNow }: { step: Step; isNow: boolean }) {
  const { outcome, isMissed, isUnmeasured } = step;
  if (isMissed)
    return <IconAlertTriangle size={18} aria-label="not as expected" className={classes.missed} />;
  if (isUnmeasured) return <IconCircleMinus size={18} aria-label="not measured" className="dim" />;
  if (outcome !== undefined)
    return <IconCircleCheck size={18} aria-label="done" className={classes.done} />;
  return isNow ? (
    <IconLoader size={18} aria-label="in progress" />
  ) : (
    <IconCircle size={18} aria-label="pending" className="dim" />
  );
}

/**
 * Whether the tour can start: drills are allowed and none is running, the demo database exists, and
 * the node is up.
 */
export function useTourAvailable(): boolean {
  const isIdle = useTour() === null;
  const may = useCanStartDrill();
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
