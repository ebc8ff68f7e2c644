/** Menu of a backup of the console, and the dialogs that it opens. */
import { ActionIcon, Menu } from '@mantine/core';
import { IconDotsVertical, IconDownload, IconShieldCheck, IconTrash } from '@tabler/icons-react';
import {
  consoleBackupsQuery,
  deleteConsoleBackup,
  downloadConsoleBackup,
  isUnfinished,
  verifyConsoleBackup,
} from '@/api/cluster/consoleBackups';
import type { ConsoleBackup } from '@/api/types';
import { useInvalidateAfter } from '@/api/useInvalidateAfter';
import { SubmitDialog } from '@/ui/forms/SubmitDialog';

export interface ConsoleBackupDialog {
  name: 'verify' | 'download' | 'delete';
  backup: ConsoleBackup;
}

interface ActionsProps {
  backup: ConsoleBackup;
  onDialog: (dialog: ConsoleBackupDialog) => void;
}

export function ConsoleBackupActions({ backup, onDialog }: ActionsProps) {
  const isComplete = backup.status === 'succeeded';
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <ActionIcon
          variant="subtle"
          color="gray"
          aria-label={`Actions for backup ${backup.uid} of the console`}
        >
          <IconDotsVertical size={16} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item
          leftSection={<IconShieldCheck size={15} />}
          disabled={!isComplete || backup.is_verifying}
          onClick={() => onDialog({ name: 'verify', backup })}
        >
          Verify…
        </Menu.Item>
        <Menu.Item
          leftSection={<IconDownload size={15} />}
          disabled={!isComplete}
          onClick={() => onDialog({ name: 'download', backup })}
        >
          Download…
        </Menu.Item>
        <Menu.Item
          color="var(--broken)"
          leftSection={<IconTrash size={15} />}
          disabled={isUnfinished(backup) || backup.status === 'deleting'}
          onClick={() => onDialog({ name: 'delete', backup })}
        >
          Delete…
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

interface DialogsProps {
  dialog: ConsoleBackupDialog;
  onClose: () => void;
}

export function ConsoleBackupDialogs({ dialog: { name, backup }, onClose }: DialogsProps) {
  const invalidateAfter = useInvalidateAfter(consoleBackupsQuery);
  if (name === 'verify')
    return (
      <SubmitDialog
        title={`Verify backup ${backup.uid} of the console?`}
        action="Verify backup"
        onConfirm={() => invalidateAfter(verifyConsoleBackup(backup.uid))}
        onClose={onClose}
      >
        The console reads the file completely, decrypts it with the store key or a private key of a
        location, and checks the store in it. It changes nothing.
      </SubmitDialog>
    );
  if (name === 'download')
    return (
      <SubmitDialog
        title={`Download backup ${backup.uid} of the console?`}
        action="Download backup"
        onConfirm={() => downloadConsoleBackup(backup.uid)}
        onClose={onClose}
      >
        The file is encrypted. A restore with shardboard restore-console needs{' '}
        {backup.has_store_key ? 'a private key of the location' : 'the store key'}.
      </SubmitDialog>
    );
  return (
    <SubmitDialog
      title={`Delete backup ${backup.uid} of the console?`}
      action="Delete backup"
      severe
      onConfirm={() => invalidateAfter(deleteConsoleBackup(backup.uid))}
      onClose={onClose}
    >
      <span>Its file is deleted from the location {backup.location_name}.</span>
    </SubmitDialog>
  );
}
