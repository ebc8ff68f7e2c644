/** What happened, on one time axis. */
import { useNavigate, useSearch } from '@tanstack/react-router';
import { GuidedTour, useTourOffered } from '@/features/drills/GuidedTour';
import { CLUSTER_THROUGHPUT } from '@/features/metrics/dashboards';
import { MetricChart } from '@/features/metrics/MetricChart';
import { useMarks } from '@/features/metrics/marks';
import { Incidents } from '@/features/timeline/Incidents';
import { Timeline } from '@/features/timeline/Timeline';
import { EmptyState } from '@/ui/EmptyState';
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
        chart={<Throughput />}
        empty={<Quiet />}
      />
      <Incidents />
    </div>
  );
}

export function Throughput({ height = 120 }: { height?: number }) {
  const marks = useMarks();
  return (
    <MetricChart
      declaration={CLUSTER_THROUGHPUT}
      topic="cluster"
      uid="cluster"
      marks={marks}
      height={height}
    />
  );
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
