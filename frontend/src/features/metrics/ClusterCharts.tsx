/** The charts of the whole cluster. */
import type { Bdb, Node } from '@/api/types';
import { Dashboard, type OnPin } from './Dashboard';
import { CLUSTER_CHARTS } from './dashboards';
import { onePerMachine } from './machines';
import { useMarks } from './marks';

interface Props {
  nodes: readonly Node[];
  bdbs: readonly Bdb[];
  left: string | undefined;
  right: string | undefined;
  onPin: OnPin;
}

export function ClusterCharts({ nodes, bdbs, left, right, onPin }: Props) {
  const marks = useMarks();
  return (
    <Dashboard
      charts={CLUSTER_CHARTS}
      subject={{ topic: 'cluster', uid: 'cluster' }}
      machines={{ topic: 'nodes', uid: onePerMachine(nodes) }}
      large={[left ?? 'throughput', right ?? 'cpu']}
      onPin={onPin}
      limits={{ memory_size: bdbs.reduce((sum, bdb) => sum + bdb.memory_size, 0) }}
      marks={marks}
    />
  );
}
