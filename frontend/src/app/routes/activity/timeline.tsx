/** Timeline page: events and charts on one time axis. */
import { useNavigate, useSearch } from '@tanstack/react-router';
import { GuidedTour, RunningTour, useTourAvailable } from '@/features/drills/GuidedTour';
import { THROUGHPUT } from '@/features/metrics/declarations/charts';
import { CLUSTER_THROUGHPUT, NODE_THROUGHPUT } from '@/features/metrics/declarations/dashboards';
import { TAIL_LATENCY } from '@/features/metrics/declarations/latency';
import { MetricChart } from '@/features/metrics/MetricChart';
import { type MarkScope, useEventMarks } from '@/features/metrics/marks';
import { Timeline } from '@/features/timeline/Timeline';
import { EmptyState } from '@/ui/EmptyState';
import { useLatencyReason } from '../../useLatencyReason';
import classes from '../pages.module.css';
import { SectionHead } from '../SectionHead';

export function TimelinePage() {
  const { severity, node, bdb, kind, event } = useSearch({ from: '/shell/activity/timeline' });
  const navigate = useNavigate({ from: '/activity/timeline' });
  const change = (part: object) =>
    navigate({ search: (now) => ({ ...now, ...part }), replace: true });
  return (
    <div className={classes.page}>
      <SectionHead section="activity" />
      <RunningTour />
      <Timeline
        filter={{ severity, node, bdb, kind }}
        onFilter={change}
        chosen={event}
        onChoose={(id) => change({ event: id })}
        charts={<TimelineCharts bdb={bdb} node={node} />}
        empty={<EmptyTimeline />}
      />
    </div>
  );
}

/** Throughput and latency of the objects that the lanes show. */
export function TimelineCharts({ bdb, node }: MarkScope) {
  const marks = useEventMarks({ bdb, node });
  const reasons = useLatencyReason(bdb);
  return chartsOf({ bdb, node }).map(({ declaration, topic, uid }) => (
    <MetricChart
      key={declaration.id}
      declaration={declaration}
      topic={topic}
      uid={uid}
      reasons={reasons}
      marks={marks}
      height={96}
      compact
      isAxisShared
    />
  ));
}

/** Return the charts for a filter. Latency is measured at endpoints, so there is no latency per node. */
export function chartsOf({ bdb, node }: MarkScope) {
  const all = { topic: 'cluster', uid: 'cluster' };
  if (bdb !== undefined) {
    const of = { topic: 'bdbs', uid: String(bdb) };
    return [
      { declaration: THROUGHPUT, ...of },
      { declaration: { ...TAIL_LATENCY, title: 'P99 latency' }, ...of },
    ];
  }
  const first =
    node === undefined
      ? { declaration: CLUSTER_THROUGHPUT, ...all }
      : {
          declaration: { ...NODE_THROUGHPUT, title: `Throughput of the shards of node ${node}` },
          topic: 'nodes',
          uid: String(node),
        };
  return [first, { declaration: TAIL_LATENCY, ...all }];
}

function EmptyTimeline() {
  const navigate = useNavigate({ from: '/activity/timeline' });
  const isTourAvailable = useTourAvailable();
  return (
    <>
      <EmptyState title="No events in this time range">
        <span>
          When a node goes down, this page shows when the outage was detected, which replicas were
          promoted, how the node was resynced after its return, and the throughput during this time.
        </span>
        <span>Choose a longer time range or fewer filters.</span>
      </EmptyState>
      {isTourAvailable && <GuidedTour onStarted={() => navigate({ search: { range: 60 } })} />}
    </>
  );
}
