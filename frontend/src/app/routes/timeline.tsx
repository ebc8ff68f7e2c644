/** What happened, on one time axis. */
import { useNavigate, useSearch } from '@tanstack/react-router';
import { GuidedTour, useTourOffered } from '@/features/drills/GuidedTour';
import { CLUSTER_THROUGHPUT } from '@/features/metrics/dashboards';
import { TAIL_LATENCY } from '@/features/metrics/latency';
import { MetricChart } from '@/features/metrics/MetricChart';
import { useMarks } from '@/features/metrics/marks';
import { Incidents } from '@/features/timeline/Incidents';
import { Timeline } from '@/features/timeline/Timeline';
import { EmptyState } from '@/ui/EmptyState';
import { useLatencyReason } from '../useLatencyReason';
import classes from './pages.module.css';

export function TimelinePage() {
  const { severity, node, bdb, kind, event } = useSearch({ from: '/shell/timeline' });
  const navigate = useNavigate({ from: '/timeline' });
  const change = (part: object) =>
    navigate({ search: (now) => ({ ...now, ...part }), replace: true });
  return (
    <div className={classes.page}>
      <h1>Timeline</h1>
      <Timeline
        filter={{ severity, node, bdb, kind }}
        onFilter={change}
        chosen={event}
        onChoose={(id) => change({ event: id })}
        charts={<TimelineCharts />}
        empty={<Quiet />}
      />
      <Incidents />
    </div>
  );
}

/** What clients got and how long they waited meanwhile. */
export function TimelineCharts() {
  const marks = useMarks();
  const reasons = useLatencyReason();
  return [CLUSTER_THROUGHPUT, TAIL_LATENCY].map((declaration) => (
    <MetricChart
      key={declaration.id}
      declaration={declaration}
      topic="cluster"
      uid="cluster"
      reasons={reasons}
      marks={marks}
      height={110}
      compact
    />
  ));
}

function Quiet() {
  const navigate = useNavigate({ from: '/timeline' });
  const offered = useTourOffered();
  return (
    <>
      <EmptyState title="Nothing happened in this time range">
        <span>
          When a node goes down, this page shows when it was noticed, which replicas took over and
          how the node was filled again after its return, over the throughput of that time.
        </span>
        <span>A longer range, or a filter less, may show more.</span>
      </EmptyState>
      {offered && <GuidedTour onStarted={() => navigate({ search: { range: 60 } })} />}
    </>
  );
}
