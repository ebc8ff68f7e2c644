/**
 * Dialog that upgrades all databases with a shard on a node to the engine version of their nodes.
 * It shows the plan of each database first.
 */
import { Alert } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { previewNodeUpgrade, upgradeNode } from '@/api/cluster/nodes';
import { messageOf } from '@/api/http';
import type { Node, NodeUpgrade } from '@/api/types';
import { SubmitDialog } from '@/ui/forms/SubmitDialog';
import classes from './nodes.module.css';

export function UpgradeNode({ node, onClose }: { node: Node; onClose: () => void }) {
  const { data, error } = useQuery({
    queryKey: ['upgrade-node', node.uid],
    queryFn: ({ signal }) => previewNodeUpgrade(node.uid, signal),
    gcTime: 0,
    staleTime: 0,
    retry: false,
  });
  const databases = data?.databases ?? [];
  return (
    <SubmitDialog
      title={`Upgrade the databases of node ${node.uid}?`}
      action="Upgrade databases"
      size="lg"
      disabled={!databases.some(({ steps }) => steps.length > 0)}
      onConfirm={() => upgradeNode(node.uid)}
      onClose={onClose}
    >
      <span>
        Databases with a shard on this node are upgraded to the engine version that is installed on
        their nodes, including their shards on other nodes. Shards are replaced one at a time,
        replicas first. The databases stay available.
      </span>
      {error && (
        <Alert color="red" role="alert">
          {messageOf(error)}
        </Alert>
      )}
      {!data && !error && <span className="dim">Loading the plan…</span>}
      {data && databases.length === 0 && (
        <span>All shards of its databases already run the engine version of their nodes.</span>
      )}
      {databases.length > 0 && (
        <ul className={classes.upgrades} aria-label="Databases">
          {databases.map((database) => (
            <li key={database.bdb_uid}>
              <DatabasePlan of={database} />
            </li>
          ))}
        </ul>
      )}
    </SubmitDialog>
  );
}

function DatabasePlan({ of }: { of: NodeUpgrade }) {
  if (of.refused) {
    return (
      <>
        <b>{of.name}</b> is not upgraded. {of.refused}
      </>
    );
  }
  return (
    <details>
      <summary>{of.description}</summary>
      <ol>
        {of.steps.map((step) => (
          <li key={step}>{step}</li>
        ))}
      </ol>
    </details>
  );
}
