/** The charts of the whole cluster. */
import type { Bdb, Node } from '@/api/types';
import { Dashboard, type OnPin } from './Dashboard';
import { CLUSTER_CHARTS } from './dashboards';
import { LATENCY } from './latency';
import type { Reasons } from './MetricChart';
import { onePerMachine } from './machines';
import { useMarks } from './marks';

interface Props {
  nodes: readonly Node[];
  bdbs: readonly Bdb[];
  left: string | undefined;
  right: string | undefined;
  onPin: OnPin;
  reasons: Reasons | undefined;
}

export function ClusterCharts({ nodes, bdbs, left, right, onPin, reasons }: Props) {
  const marks = useMarks();
  return (
    <Dashboard
      charts={CLUSTER_CHARTS}
      subject={{ topic: 'cluster', uid: 'cluster' }}
      machines={{ topic: 'nodes', uid: onePerMachine(nodes) }}
      large={[left ?? 'throughput', right ?? LATENCY.id]}
      onPin={onPin}
      limits={{ memory_size: bdbs.reduce((sum, bdb) => sum + bdb.memory_size, 0) }}
      reasons={reasons}
      marks={marks}
    />
  );
}
