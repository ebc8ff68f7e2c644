/** What to do in an empty cluster: three steps, one button each. */
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { nodesQuery } from '@/api/nodes';
import { plural } from '@/lib/format';
import { EmptyState } from '@/ui/EmptyState';
import { CreateButton } from './CreateButton';
import classes from './databases.module.css';

interface Props {
  /** One step at a time is the one to take: its button stands out. */
  addNode: (next: boolean) => ReactNode;
}

export function FirstSteps({ addNode }: Props) {
  const { data: nodes } = useQuery(nodesQuery);
  const count = nodes?.length ?? 0;
  return (
    <EmptyState title="No database yet">
      <ol className={classes.steps}>
        <li data-done={count > 0 || undefined}>
          <span>
            <strong>Add nodes</strong>
            {count
              ? `${plural(count, 'node')} joined. Replication needs at least two.`
              : 'A node is a machine with an agent; it runs the shards.'}
          </span>
          {addNode(count === 0)}
        </li>
        <li>
          <span>
            <strong>Create a database</strong>A Valkey cluster of 1 to 512 shards, placed on your
            nodes.
          </span>
          <CreateButton disabled={!count} quiet={!count} />
        </li>
        <li>
          <span>
            <strong>Connect and watch</strong>
            Point any Redis or Valkey client at its endpoint; throughput, memory and placement
            update every second.
          </span>
        </li>
      </ol>
    </EmptyState>
  );
}
