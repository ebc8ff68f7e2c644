/** First steps in an empty cluster. */
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { nodesQuery } from '@/api/cluster/nodes';
import { plural } from '@/lib/format';
import { EmptyState } from '@/ui/EmptyState';
import classes from '../databases.module.css';
import { CreateButton } from './CreateButton';

interface Props {
  /** Renders the button that adds a node; `next` highlights it as the next step. */
  addNode: (next: boolean) => ReactNode;
}

export function FirstSteps({ addNode }: Props) {
  const { data: nodes } = useQuery(nodesQuery);
  const count = nodes?.length ?? 0;
  return (
    <EmptyState title="No databases yet">
      <ol className={classes.steps}>
        <li data-done={count > 0 || undefined}>
          <span>
            <strong>Add nodes</strong>
            {count
              ? `${plural(count, 'node')} joined. Replication needs at least two.`
              : 'A node is a machine that runs an agent and shards.'}
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
            <strong>Run a benchmark</strong>
            Or connect any Redis or Valkey client to the endpoint. Throughput, memory, and placement
            update every second.
          </span>
          <Button variant="default" disabled title="Create a database first">
            Run benchmark
          </Button>
        </li>
      </ol>
    </EmptyState>
  );
}
