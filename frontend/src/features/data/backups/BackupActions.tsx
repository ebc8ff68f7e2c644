/** Menu of a backup, and the dialogs that it opens. */
import { ActionIcon, Menu } from '@mantine/core';
import {
  IconDotsVertical,
  IconDownload,
  IconPlayerPlay,
  IconPlayerStop,
  IconRestore,
  IconShieldCheck,
  IconTrash,
} from '@tabler/icons-react';
import { ROLE_DENIED_TEXT } from '@/api/access/session';
import { cancelAction } from '@/api/cluster/actions';
import {
  backupsQuery,
  deleteBackup,
  downloadBackup,
  resumeBackup,
  verifyBackup,
} from '@/api/data/backups';
import type { Backup } from '@/api/types';
import { useInvalidateAfter } from '@/api/useInvalidateAfter';
import { plural } from '@/lib/format';
import { Ago } from '@/ui/Ago';
import { Bytes } from '@/ui/Bytes';
import { ConfirmByTyping } from '@/ui/forms/ConfirmByTyping';
import { SubmitDialog } from '@/ui/forms/SubmitDialog';
import { RestoreDialog } from '../restores/RestoreDialog';
import { deleteDeniedReason, isRestorable } from './backupText';

export interface BackupDialog {
  name: 'restore' | 'verify' | 'download' | 'cancel' | 'resume' | 'delete';
  backup: Backup;
}

interface ActionsProps {
  backup: Backup;
  may: boolean;
  onDialog: (dialog: BackupDialog) => void;
}

export function BackupActions({ backup, may, onDialog }: ActionsProps) {
  const deleteDenied = deleteDeniedReason(backup);
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <ActionIcon
          variant="subtle"
          color="gray"
          aria-label={`Actions for backup ${backup.uid} of ${backup.bdb_name}`}
        >
          <IconDotsVertical size={16} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        {!may && <Menu.Label>{ROLE_DENIED_TEXT}</Menu.Label>}
        <Menu.Item
          leftSection={<IconRestore size={15} />}
          disabled={!may || !isRestorable(backup)}
          onClick={() => onDialog({ name: 'restore', backup })}
        >
          Restore…
        </Menu.Item>
        <Menu.Item
          leftSection={<IconShieldCheck size={15} />}
          disabled={!may || !isRestorable(backup)}
          onClick={() => onDialog({ name: 'verify', backup })}
        >
          Verify…
        </Menu.Item>
        <Menu.Item
          leftSection={<IconDownload size={15} />}
          disabled={!may || !isRestorable(backup)}
          onClick={() => onDialog({ name: 'download', backup })}
        >
          Download…
        </Menu.Item>
        {backup.status === 'running' && (
          <Menu.Item
            leftSection={<IconPlayerStop size={15} />}
            disabled={!may}
            onClick={() => onDialog({ name: 'cancel', backup })}
          >
            Cancel…
          </Menu.Item>
        )}
        {backup.resumable_until && (
          <Menu.Item
            leftSection={<IconPlayerPlay size={15} />}
            disabled={!may}
            onClick={() => onDialog({ name: 'resume', backup })}
          >
            Resume…
          </Menu.Item>
        )}
        <Menu.Item
          color="var(--broken)"
          leftSection={<IconTrash size={15} />}
          disabled={!may || deleteDenied !== undefined}
          title={deleteDenied ?? ''}
          onClick={() => onDialog({ name: 'delete', backup })}
        >
          Delete…
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

interface DialogsProps {
  dialog: BackupDialog | null;
  onClose: () => void;
}

export function BackupDialogs({ dialog, onClose }: DialogsProps) {
  const invalidateAfter = useInvalidateAfter(backupsQuery);
  if (!dialog) return null;
  const { name, backup } = dialog;
  if (name === 'restore')
    return <RestoreDialog backup={backup.uid} target={backup.bdb_uid} onClose={onClose} />;
  if (name === 'verify')
    return (
      <SubmitDialog
        title={`Verify the backup of ${backup.bdb_name}?`}
        action="Verify backup"
        onConfirm={() => invalidateAfter(verifyBackup(backup.uid))}
        onClose={onClose}
      >
        {backup.is_decryptable
          ? 'The backup is restored into a temporary database, and its keys are compared with those of the backup. This requires free memory for the data. Afterwards, the temporary database is deleted.'
          : 'The console has no private key of this backup. It compares the checksums of the encrypted files and of the manifest, which shows whether they were changed. Whether the keys can be restored is not verified. To verify this too, add the private key to a location.'}
      </SubmitDialog>
    );
  if (name === 'download')
    return (
      <SubmitDialog
        title={`Download the backup of ${backup.bdb_name}?`}
        action="Download backup"
        onConfirm={() => downloadBackup(backup.uid)}
        onClose={onClose}
      >
        The browser downloads one tar archive with {plural(backup.files.length, 'RDB file')} and the
        manifest, <Bytes value={backup.bytes} /> in total. Anyone who has the archive can read all
        keys.
      </SubmitDialog>
    );
  if (name === 'cancel')
    return (
      <SubmitDialog
        title={`Cancel the backup of ${backup.bdb_name}?`}
        action="Cancel backup"
        onConfirm={() => invalidateAfter(cancelAction(backup.action_uid))}
        onClose={onClose}
      >
        The files that have been written so far are deleted. The database is not affected.
      </SubmitDialog>
    );
  if (name === 'resume')
    return (
      <SubmitDialog
        title={`Resume the backup of ${backup.bdb_name}?`}
        action="Resume backup"
        onConfirm={() => invalidateAfter(resumeBackup(backup.uid))}
        onClose={onClose}
      >
        Complete files are kept, and the other shards are backed up now. The files are then
        snapshots of moments that are further apart than in a new backup.
      </SubmitDialog>
    );
  return (
    <ConfirmByTyping
      title={`Delete backup of ${backup.bdb_name}?`}
      warning="The files of this backup are deleted from its location. The database can no longer be restored to this point. This cannot be undone."
      name={backup.bdb_name}
      action="Delete backup"
      onConfirm={() => invalidateAfter(deleteBackup(backup.uid))}
      onClose={onClose}
    >
      <span>
        Created <Ago time={backup.created_at} /> in {backup.location_name}.
      </span>
    </ConfirmByTyping>
  );
}
