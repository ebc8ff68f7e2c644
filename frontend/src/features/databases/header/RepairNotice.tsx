/** Notice about a database whose shards differ from the store, with a button that repairs it after a confirmation. */
import { Alert } from '@mantine/core';
import { useState } from 'react';
import { ROLE_DENIED_TEXT, usePermission } from '@/api/access/session';
import { repairBdb } from '@/api/databases/bdbs';
import type { Bdb, RepairReply } from '@/api/types';
import { ConfirmByTyping } from '@/ui/forms/ConfirmByTyping';
import { SubmitButton } from '@/ui/forms/SubmitButton';
import { SubmitDialog } from '@/ui/forms/SubmitDialog';
import { useSubmit } from '@/ui/forms/useSubmit';
import classes from '../databases.module.css';

export function RepairNotice({ bdb }: { bdb: Bdb }) {
  const [plan, setPlan] = useState<RepairReply | null>(null);
  const may = usePermission('administer');
  const open = useSubmit(async () => setPlan(await repairBdb(bdb.uid, { dry_run: true })));
  return (
    <Alert
      className={classes.failed}
      color="red"
      title={`${bdb.name} differs from the state that the console has stored`}
      role="alert"
    >
      <p className={classes.reason}>{bdb.mismatch}</p>
      <p className={classes.reason}>
        The store may have been restored from an older backup, or a node may have lost its files. A
        repair updates the store with the shards and slots that serve requests, and starts missing
        shards. If you deleted this database after the backup, delete it again instead.
      </p>
      {open.failure && <p className={classes.reason}>{open.failure.text}</p>}
      <SubmitButton
        variant="default"
        loading={open.busy}
        disabled={!may || bdb.status !== 'active'}
        title={may ? undefined : ROLE_DENIED_TEXT}
        onClick={open.submit}
      >
        Repair database…
      </SubmitButton>
      {plan && <RepairDialog bdb={bdb} plan={plan} onClose={() => setPlan(null)} />}
    </Alert>
  );
}

interface DialogProps {
  bdb: Bdb;
  plan: RepairReply;
  onClose: () => void;
}

function RepairDialog({ bdb, plan, onClose }: DialogProps) {
  const phrase = `database ${bdb.uid}`;
  const title = `Repair ${bdb.name}?`;
  const changes = (
    <ul>
      {plan.changes.map((change) => (
        <li key={change}>{change}</li>
      ))}
    </ul>
  );
  if (!plan.loses_data) {
    return (
      <SubmitDialog
        title={title}
        action="Repair database"
        onConfirm={() => repairBdb(bdb.uid, {})}
        onClose={onClose}
      >
        {changes}
      </SubmitDialog>
    );
  }
  return (
    <ConfirmByTyping
      title={title}
      warning="Some shards are started without data. This cannot be undone."
      name={phrase}
      action="Repair and start empty"
      onConfirm={() => repairBdb(bdb.uid, { confirm: phrase })}
      onClose={onClose}
    >
      {changes}
    </ConfirmByTyping>
  );
}
