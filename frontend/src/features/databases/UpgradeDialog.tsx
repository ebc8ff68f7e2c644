/** Has the shards run the engine that their nodes have now, after showing the steps. */
import { Alert } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { previewUpgrade, upgradeBdb } from '@/api/bdbs';
import { messageOf } from '@/api/http';
import type { Bdb } from '@/api/types';
import { Ask } from '@/ui/Ask';
import classes from './databases.module.css';

export function UpgradeDialog({ bdb, onClose }: { bdb: Bdb; onClose: () => void }) {
  const { data: plan, error } = useQuery({
    queryKey: ['upgrade', bdb.uid],
    queryFn: ({ signal }) => previewUpgrade(bdb.uid, signal),
    gcTime: 0,
    staleTime: 0,
    retry: false,
  });
  return (
    <Ask
      title={`Upgrade the engine of ${bdb.name}`}
      action="Upgrade"
      size="lg"
      disabled={!plan?.steps.length}
      onConfirm={() => upgradeBdb(bdb.uid)}
      onClose={onClose}
    >
      <span>
        Each shard is replaced on its node by a new process with the engine that the node has now,
        replicas first. The database goes on serving meanwhile; a node needs memory for one shard
        more.
      </span>
      {error && (
        <Alert color="red" role="alert">
          {messageOf(error)}
        </Alert>
      )}
      {!plan && !error && <span className="dim">Asking the console for the plan…</span>}
      {plan?.steps.length === 0 && <span>Every shard runs the engine that its node has.</span>}
      {plan && plan.steps.length > 0 && (
        <ol className={classes.replacements} aria-label="Steps">
          {plan.steps.map((step) => (
            <li key={step}>{step}</li>
          ))}
        </ol>
      )}
    </Ask>
  );
}
