/** Charts of the cluster. */
import { useProvisioned } from '@/api/databases/bdbs';
import type { Node } from '@/api/types';
import { Dashboard, type OnPin } from './Dashboard';
import { CLUSTER_CHARTS } from './declarations/dashboards';
import { LATENCY } from './declarations/latency';
import type { EmptyReasons } from './MetricChart';
import { onePerMachine } from './machines';
import { useEventMarks } from './marks';

interface Props {
  nodes: readonly Node[];
  left: string | undefined;
  right: string | undefined;
  onPin: OnPin;
  reasons: EmptyReasons | undefined;
}

export function ClusterCharts({ nodes, left, right, onPin, reasons }: Props) {
  const marks = useEventMarks();
  return (
    <Dashboard
      charts={CLUSTER_CHARTS}
      subject={{ topic: 'cluster', uid: 'cluster' }}
      machines={{ topic: 'nodes', uid: onePerMachine(nodes) }}
      large={[left ?? 'throughput', right ?? LATENCY.id]}
      onPin={onPin}
      limits={{ memory_size: useProvisioned() }}
      reasons={reasons}
      marks={marks}
    />
  );
}
