/** Page with all nodes. */
import { AddNodeButton } from '@/features/nodes/AddNode';
import { NodeTable } from '@/features/nodes/NodeTable';
import { RedundancyCard } from '@/features/nodes/redundancy/RedundancyCard';
import { Card } from '@/ui/Card';
import { EmptyState } from '@/ui/EmptyState';
import classes from './pages.module.css';

export function NodesPage() {
  return (
    <div className={classes.page}>
      <div className={classes.head}>
        <h1>Nodes</h1>
        <AddNodeButton />
      </div>
      <Card flush>
        <NodeTable
          empty={
            <EmptyState title="No node has joined yet">
              <span>
                A node is a machine with an agent that runs shards. Choose Add node to join a
                machine.
              </span>
            </EmptyState>
          }
        />
      </Card>
      <RedundancyCard />
    </div>
  );
}
