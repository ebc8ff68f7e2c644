/** Charts of a node. */
import type { Bdb, Node } from '@/api/types';
import { useTopic } from '@/live/LiveProvider';
import { NODE_CHARTS } from './declarations/dashboards';
import { MetricChart } from './MetricChart';
import { useEventMarks } from './marks';
import classes from './metrics.module.css';

interface Props {
  node: Node;
  bdbs: readonly Bdb[];
}

export function NodeCharts({ node, bdbs }: Props) {
  useTopic('endpoints');
  const endpoints = bdbs.map(({ uid }) => `${uid}:1:${node.uid}`);
  const marks = useEventMarks({ node: node.uid });
  return (
    <div className={classes.grid}>
      {NODE_CHARTS.map((declaration) => (
        <MetricChart
          key={declaration.id}
          declaration={declaration}
          {...(declaration.source === 'endpoints'
            ? { topic: 'endpoints', uid: endpoints }
            : { topic: 'nodes', uid: String(node.uid) })}
          limits={{ total_memory: node.total_memory }}
          marks={marks}
          height={120}
          compact
        />
      ))}
    </div>
  );
}
