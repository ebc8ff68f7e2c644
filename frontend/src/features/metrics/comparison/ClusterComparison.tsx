/** Comparison of the nodes or databases of the cluster. */
import type { Bdb, Node } from '@/api/types';
import { useEventMarks } from '../marks';
import { Comparison, type View } from './Comparison';
import { BDB_METRICS, NODE_METRICS } from './comparisonMetrics';

interface Props {
  by: 'nodes' | 'databases';
  nodes: readonly Node[];
  bdbs: readonly Bdb[];
  metric: string | undefined;
  view: View;
  onChange: (change: { metric?: string; view?: View }) => void;
}

export function ClusterComparison({ by, nodes, bdbs, ...rest }: Props) {
  const marks = useEventMarks();
  const byNodes = by === 'nodes';
  const groups = byNodes
    ? nodes.map(({ uid, addr }) => ({
        key: String(uid),
        label: `node ${uid}`,
        note: addr,
        uids: [String(uid)],
      }))
    : bdbs.map(({ uid, name }) => ({ key: String(uid), label: name, uids: [String(uid)] }));
  return (
    <Comparison
      topic={byNodes ? 'nodes' : 'bdbs'}
      groups={groups}
      metrics={byNodes ? NODE_METRICS : BDB_METRICS}
      topicSize={groups.length}
      marks={marks}
      {...rest}
    />
  );
}
