/** Dialog that upgrades the shards of a database to the engine on their nodes. It shows the steps first. */
import { Alert } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { previewUpgrade, upgradeBdb } from '@/api/databases/bdbs';
import { messageOf } from '@/api/http';
import type { Bdb } from '@/api/types';
import { SubmitDialog } from '@/ui/forms/SubmitDialog';
import classes from '../databases.module.css';

export function UpgradeDialog({ bdb, onClose }: { bdb: Bdb; onClose: () => void }) {
  const { data: plan, error } = useQuery({
    queryKey: ['upgrade', bdb.uid],
    queryFn: ({ signal }) => previewUpgrade(bdb.uid, signal),
    gcTime: 0,
    staleTime: 0,
    retry: false,
  });
  return (
    <SubmitDialog
      title={`Upgrade the engine of ${bdb.name}`}
      action="Upgrade"
      size="lg"
      disabled={!plan?.steps.length}
      onConfirm={() => upgradeBdb(bdb.uid)}
      onClose={onClose}
    >
      <span>
        Each shard is replaced with a new process that runs the engine installed on its node,
        replicas first. The database continues to serve requests. Each node needs free memory for
        one additional shard.
      </span>
      {error && (
        <Alert color="red" role="alert">
          {messageOf(error)}
        </Alert>
      )}
      {!plan && !error && <span className="dim">Requesting the plan…</span>}
      {plan?.steps.length === 0 && (
        <span>All shards already run the engine that is installed on their nodes.</span>
      )}
      {plan && plan.steps.length > 0 && (
        <ol className={classes.replacements} aria-label="Steps">
          {plan.steps.map((step) => (
            <li key={step}>{step}</li>
          ))}
        </ol>
      )}
    </SubmitDialog>
  );
}
