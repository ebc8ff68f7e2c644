/** Page of a benchmark run with charts of its database. */
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { benchmarkQuery } from '@/api/benchmarks';
import { useRunningDrills } from '@/api/cluster/actions';
import { ActionProgress } from '@/features/actions/ActionProgress';
import { RunView } from '@/features/benchmarks/RunView';
import { THROUGHPUT } from '@/features/metrics/declarations/charts';
import { PERCENTILES } from '@/features/metrics/declarations/latency';
import { MetricChart } from '@/features/metrics/MetricChart';
import { useEventMarks } from '@/features/metrics/marks';

const OF_DATABASE = [
  { ...THROUGHPUT, title: 'Throughput at the endpoint' },
  { ...PERCENTILES, title: 'Latency at the endpoint' },
];

export function BenchmarkPage() {
  const { uid } = useParams({ from: '/shell/benchmarks/$uid' });
  const navigate = useNavigate();
  const run = useQuery(benchmarkQuery(Number(uid))).data;
  const bdb = run?.bdb_uid;
  const drill = useRunningDrills().find(
    ({ action_uid }) => action_uid === run?.facts.drill_action_uid,
  );
  const marks = useEventMarks(bdb === undefined ? {} : { bdb });
  return (
    <RunView
      key={uid}
      uid={Number(uid)}
      marks={marks}
      runningDrill={drill && <ActionProgress action={drill} />}
      charts={OF_DATABASE.map((declaration) => (
        <MetricChart
          key={declaration.id}
          declaration={declaration}
          topic="bdbs"
          uid={String(bdb)}
          marks={marks}
          height={170}
        />
      ))}
      onDeleted={() => navigate({ to: '/benchmarks' })}
    />
  );
}
