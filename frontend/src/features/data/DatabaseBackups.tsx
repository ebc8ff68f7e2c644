/** Backups tab of a database: its backups, restores and imports, and its schedule. */
import { Button } from '@mantine/core';
import { useState } from 'react';
import { ROLE_DENIED_TEXT, usePermission } from '@/api/access/session';
import type { Bdb } from '@/api/types';
import { EmptyState } from '@/ui/EmptyState';
import { BackUpNow } from './backups/BackUpNow';
import { BackupTable } from './backups/BackupTable';
import type { BackupFilter } from './backups/backupText';
import { ExportDialog } from './backups/ExportDialog';
import classes from './data.module.css';
import { ImportDialog } from './restores/ImportDialog';
import { RestoreDialog } from './restores/RestoreDialog';
import { RestoreTable } from './restores/RestoreTable';
import { RestoreWindows } from './restores/RestoreWindows';
import { ScheduleCard } from './schedule/ScheduleCard';

interface Props {
  bdb: Bdb;
  filter: BackupFilter;
  onFilter: (filter: BackupFilter) => void;
  opened: number | undefined;
  onOpen: (uid: number | undefined) => void;
}

export function DatabaseBackups({ bdb, ...table }: Props) {
  const [dialog, setDialog] = useState<'backup' | 'restore' | 'import' | 'export' | null>(null);
  const [until, setUntil] = useState<number>();
  const may = usePermission('edit');
  const inactiveHint = bdb.status === 'active' ? undefined : 'The database must be active';
  const hint = may ? inactiveHint : ROLE_DENIED_TEXT;
  const close = () => setDialog(null);
  const button = { variant: 'default', disabled: hint !== undefined, title: hint };
  return (
    <div className={classes.sections}>
      <div className={classes.buttons}>
        <Button {...button} variant="filled" onClick={() => setDialog('backup')}>
          Back up now…
        </Button>
        <Button {...button} onClick={() => setDialog('restore')}>
          Restore…
        </Button>
        <Button {...button} onClick={() => setDialog('import')}>
          Import…
        </Button>
        <Button {...button} onClick={() => setDialog('export')}>
          Export…
        </Button>
      </div>
      <BackupTable
        bdb={bdb.uid}
        {...table}
        empty={
          <EmptyState title="No backups yet">
            <span>
              A backup stores the keys of all shards in a location outside the cluster. You can
              restore it into this database or another one, with any number of shards.
            </span>
          </EmptyState>
        }
      />
      <RestoreWindows bdb={bdb.uid} denied={hint} onRestore={setUntil} />
      <RestoreTable bdb={bdb.uid} />
      <ScheduleCard bdb={bdb} />
      {dialog === 'backup' && <BackUpNow bdb={bdb} onClose={close} />}
      {dialog === 'restore' && <RestoreDialog target={bdb.uid} onClose={close} />}
      {until !== undefined && (
        <RestoreDialog target={bdb.uid} until={until} onClose={() => setUntil(undefined)} />
      )}
      {dialog === 'export' && <ExportDialog bdb={bdb} onClose={close} />}
      {dialog === 'import' && <ImportDialog bdb={bdb} onClose={close} />}
    </div>
  );
}
