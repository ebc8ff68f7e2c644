/** Has all databases with a shard on a node run the engine that their nodes have now, after showing what becomes of each. */
import { Alert } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { messageOf } from '@/api/http';
import { previewNodeUpgrade, upgradeNode } from '@/api/nodes';
import type { Node, NodeUpgrade } from '@/api/types';
import { Ask } from '@/ui/Ask';
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
    <Ask
      title={`Upgrade the databases of node ${node.uid}?`}
      action="Upgrade"
      size="lg"
      disabled={!databases.some(({ steps }) => steps.length > 0)}
      onConfirm={() => upgradeNode(node.uid)}
      onClose={onClose}
    >
      <span>
        Each database with a shard on this node gets the engine that its nodes have now, also on its
        other nodes. Shards are replaced one by one, replicas first; the databases go on serving
        meanwhile.
      </span>
      {error && (
        <Alert color="red" role="alert">
          {messageOf(error)}
        </Alert>
      )}
      {!data && !error && <span className="dim">Asking the console for the plan…</span>}
      {data && databases.length === 0 && (
        <span>Every shard of its databases runs the engine that its node has.</span>
      )}
      {databases.length > 0 && (
        <ul className={classes.outlooks} aria-label="Databases">
          {databases.map((each) => (
            <li key={each.bdb_uid}>
              <Outlook of={each} />
            </li>
          ))}
        </ul>
      )}
    </Ask>
  );
}

function Outlook({ of }: { of: NodeUpgrade }) {
  if (of.refused) {
    return (
      <>
        <b>{of.name}</b> is left as it is. {of.refused}
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
