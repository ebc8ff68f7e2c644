/** The nodes or the databases of the cluster side by side. */
import type { Bdb, Node } from '@/api/types';
import { Comparison, type View } from './Comparison';
import { BDB_METRICS, NODE_METRICS } from './compared';
import { useMarks } from './marks';

interface Props {
  by: 'nodes' | 'databases';
  nodes: readonly Node[];
  bdbs: readonly Bdb[];
  metric: string | undefined;
  view: View;
  onChange: (change: { metric?: string; view?: View }) => void;
}

export function ClusterComparison({ by, nodes, bdbs, ...rest }: Props) {
  const marks = useMarks();
  const ofNodes = by === 'nodes';
  const groups = ofNodes
    ? nodes.map(({ uid, addr }) => ({
        key: String(uid),
        label: `node ${uid}`,
        note: addr,
        uids: [String(uid)],
      }))
    : bdbs.map(({ uid, name }) => ({ key: String(uid), label: name, uids: [String(uid)] }));
  return (
    <Comparison
      topic={ofNodes ? 'nodes' : 'bdbs'}
      groups={groups}
      metrics={ofNodes ? NODE_METRICS : BDB_METRICS}
      all={groups.length}
      marks={marks}
      {...rest}
    />
  );
}
