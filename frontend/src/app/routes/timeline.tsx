/** What happened, on one time axis. */
import { useNavigate, useSearch } from '@tanstack/react-router';
import { GuidedTour, RunningTour, useTourOffered } from '@/features/drills/GuidedTour';
import { THROUGHPUT } from '@/features/metrics/charts';
import { CLUSTER_THROUGHPUT, NODE_THROUGHPUT } from '@/features/metrics/dashboards';
import { TAIL_LATENCY } from '@/features/metrics/latency';
import { MetricChart } from '@/features/metrics/MetricChart';
import { type Concern, useMarks } from '@/features/metrics/marks';
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
      <RunningTour />
      <Timeline
        filter={{ severity, node, bdb, kind }}
        onFilter={change}
        chosen={event}
        onChoose={(id) => change({ event: id })}
        charts={<TimelineCharts bdb={bdb} node={node} />}
        empty={<Quiet />}
      />
      <Incidents />
    </div>
  );
}

/** What clients got and how long they waited meanwhile: of what the lanes show. */
export function TimelineCharts({ bdb, node }: Concern) {
  const marks = useMarks({ bdb, node });
  const reasons = useLatencyReason(bdb);
  return chartsOf({ bdb, node }).map(({ declaration, topic, uid }) => (
    <MetricChart
      key={declaration.id}
      declaration={declaration}
      topic={topic}
      uid={uid}
      reasons={reasons}
      marks={marks}
      height={110}
      compact
    />
  ));
}

/** Latency is measured at endpoints: of a node there is none of its own. */
export function chartsOf({ bdb, node }: Concern) {
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
        <span>Try a longer range or fewer filters.</span>
      </EmptyState>
      {offered && <GuidedTour onStarted={() => navigate({ search: { range: 60 } })} />}
    </>
  );
}
