/** Overview page of the cluster. */
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { bdbsQuery } from '@/api/databases/bdbs';
import { AcknowledgedCount } from '@/features/alarms/AcknowledgedCount';
import { FirstSteps } from '@/features/databases/create/FirstSteps';
import { SwitchBackNotices } from '@/features/databases/header/SwitchBackNotice';
import { CompactDatabaseTable } from '@/features/databases/list/DatabaseTable';
import { GuidedTour } from '@/features/drills/GuidedTour';
import { LatestEvents } from '@/features/events/LatestEvents';
import { CLUSTER_THROUGHPUT } from '@/features/metrics/declarations/dashboards';
import { CLUSTER_LATENCY } from '@/features/metrics/declarations/latency';
import { MetricChart } from '@/features/metrics/MetricChart';
import { useEventMarks } from '@/features/metrics/marks';
import { AddNodeButton } from '@/features/nodes/AddNode';
import { NodeStrip } from '@/features/nodes/NodeStrip';
import { RedundancyLine } from '@/features/nodes/redundancy/RedundancyLine';
import { Health } from '@/features/overview/Health';
import { Matters } from '@/features/overview/Matters';
import { Totals } from '@/features/overview/Totals';
import { useDrawError, useFreshness, useStreamState } from '@/live/LiveProvider';
import { Card } from '@/ui/Card';
import { useLatencyReason } from '../useLatencyReason';
import { useProblems } from '../useProblems';
import classes from './pages.module.css';

export function OverviewPage() {
  const { data: bdbs } = useQuery(bdbsQuery);
  return (
    <div className={classes.page}>
      <State />
      <AcknowledgedCount />
      {bdbs?.length === 0 ? <EmptyCluster /> : <RunningCluster />}
    </div>
  );
}

function State() {
  const { phase } = useStreamState();
  const freshness = useFreshness();
  const drawError = useDrawError();
  const isPartlyLive = drawError !== null && freshness === 'fresh';
  const stale = phase === 'lost' ? 'lost' : isPartlyLive ? 'late' : freshness;
  const problems = useProblems();
  return (
    <>
      <div className={classes.state}>
        <Health problems={problems} stale={stale === 'fresh' ? null : stale} />
        {/* While something is down, the heading and the strips describe the consequences. */}
        {stale !== 'lost' && !problems.some(({ tone }) => tone === 'broken') && (
          <RedundancyLine version={problems.map(({ text }) => text).join()} />
        )}
      </div>
      <Matters problems={problems}>
        <SwitchBackNotices />
      </Matters>
    </>
  );
}

function EmptyCluster() {
  return (
    <>
      <Card flush>
        <FirstSteps addNode={(next) => <AddNodeButton variant={next ? 'filled' : 'default'} />} />
      </Card>
      <NodeStrip />
      <Events />
    </>
  );
}

function RunningCluster() {
  const marks = useEventMarks();
  const navigate = useNavigate();
  const reasons = useLatencyReason();
  const chart = { topic: 'cluster', uid: 'cluster', marks, height: 170 };
  return (
    <>
      <Totals unavailableReason={reasons?.latency} />
      <div className={classes.split}>
        <div className={classes.column}>
          <div className={classes.pair}>
            <MetricChart {...chart} declaration={CLUSTER_THROUGHPUT} />
            <MetricChart
              {...chart}
              declaration={CLUSTER_LATENCY}
              reasons={reasons}
              actions={<Link to="/cluster/metrics">All metrics</Link>}
            />
          </div>
          <NodeStrip />
          <Card title="Databases" flush headerEnd={<Link to="/databases">All databases</Link>}>
            <CompactDatabaseTable />
          </Card>
        </div>
        <div className={classes.column}>
          <GuidedTour
            onStarted={() => navigate({ to: '/activity/timeline', search: { range: 60 } })}
          />
          <Events />
        </div>
      </div>
    </>
  );
}

function Events() {
  return (
    <Card
      title="Latest events"
      flush
      headerEnd={
        <Link to="/activity/events" search={{ span: 'all' }}>
          All events
        </Link>
      }
    >
      <LatestEvents />
    </Card>
  );
}
