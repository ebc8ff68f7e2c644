/** The charts of a machine. */
import type { Node } from '@/api/types';
import { NODE_CHARTS } from './dashboards';
import { MetricChart } from './MetricChart';
import { useMarks } from './marks';
import classes from './metrics.module.css';

export function NodeCharts({ node }: { node: Node }) {
  const marks = useMarks({ node: node.uid });
  return (
    <div className={classes.grid}>
      {NODE_CHARTS.map((declaration) => (
        <MetricChart
          key={declaration.id}
          declaration={declaration}
          topic="nodes"
          uid={String(node.uid)}
          limits={{ total_memory: node.total_memory }}
          marks={marks}
          height={120}
          compact
        />
      ))}
    </div>
  );
}
