/** Confirmation dialogs of the actions of a database. */
import {
  deleteBdb,
  flushBdb,
  resetAdminPassword,
  resumeTraffic,
  stopTraffic,
  useDatabaseName,
} from '@/api/databases/bdbs';
import type { Bdb } from '@/api/types';
import { ConfirmByTyping } from '@/ui/forms/ConfirmByTyping';
import { SubmitDialog } from '@/ui/forms/SubmitDialog';
import { RebalanceDialog } from '../plan/RebalanceDialog';
import { UpgradeDialog } from './UpgradeDialog';

export type DatabaseDialogName =
  | 'flush'
  | 'password'
  | 'delete'
  | 'rebalance'
  | 'stop'
  | 'resume'
  | 'upgrade';

interface Props {
  bdb: Bdb;
  dialog: DatabaseDialogName;
  onClose: () => void;
  onDeleted: () => void;
}

export function DatabaseDialog({ bdb, dialog, onClose, onDeleted }: Props) {
  const name = useDatabaseName(bdb);
  const remove = async () => {
    await deleteBdb(bdb.uid);
    onDeleted();
  };
  switch (dialog) {
    case 'rebalance':
      return <RebalanceDialog bdb={bdb} onClose={onClose} />;
    case 'upgrade':
      return <UpgradeDialog bdb={bdb} onClose={onClose} />;
    case 'password':
      return (
        <SubmitDialog
          title={`Change the internal password of ${name}?`}
          action="Change password"
          onConfirm={() => resetAdminPassword(bdb.uid)}
          onClose={onClose}
        >
          <span>
            The console, the agents, and replicas authenticate to the shards with this password. The
            new password is random and is never displayed. Clients are not affected, because they
            use other passwords.
          </span>
        </SubmitDialog>
      );
    case 'resume':
      return (
        <SubmitDialog
          title={`Resume traffic to ${name}?`}
          action="Resume traffic"
          onConfirm={() => resumeTraffic(bdb.uid)}
          onClose={onClose}
        >
          <span>Clients can connect again.</span>
        </SubmitDialog>
      );
    case 'stop':
      return (
        <ConfirmByTyping
          title={`Stop traffic to ${name}?`}
          warning="All clients are disconnected and cannot connect until you resume traffic. The data is kept, and failovers still take place."
          name={name}
          action="Stop traffic"
          onConfirm={() => stopTraffic(bdb.uid)}
          onClose={onClose}
        />
      );
    case 'flush':
      return (
        <ConfirmByTyping
          title={`Flush ${name}?`}
          warning="All keys of all shards are deleted. The database and its settings are kept. This cannot be undone."
          name={name}
          action="Flush database"
          onConfirm={() => flushBdb(bdb.uid)}
          onClose={onClose}
        />
      );
    case 'delete':
      return (
        <ConfirmByTyping
          title={`Delete ${name}?`}
          warning="All shards are stopped and all data is deleted. This cannot be undone."
          name={name}
          action="Delete database"
          onConfirm={remove}
          onClose={onClose}
        />
      );
  }
}
