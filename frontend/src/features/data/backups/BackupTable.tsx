/** Table of backups, newest first: of all databases, or of one. */
import { Alert, NativeSelect } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useMemo, useState } from 'react';
import { usePermission } from '@/api/access/session';
import { backupsQuery } from '@/api/data/backups';
import { shownBdbsQuery } from '@/api/databases/bdbs';
import { messageOf } from '@/api/http';
import type { Backup, Bdb } from '@/api/types';
import { format, formatExact } from '@/lib/format';
import { Ago } from '@/ui/Ago';
import { Card } from '@/ui/Card';
import { Status } from '@/ui/Status';
import { type Column, DataTable } from '@/ui/table/DataTable';
import classes from '../data.module.css';
import { BackupActions, type BackupDialog, BackupDialogs } from './BackupActions';
import { Duration, EncryptedMark, Verified } from './BackupCells';
import { BackupDetails } from './BackupDetails';
import {
  type BackupFilter,
  backupStatus,
  filterBackups,
  STATUS_CHOICES,
  sizeText,
  triggerText,
} from './backupText';

interface Props {
  /** Show only backups of this database. */
  bdb?: number;
  filter: BackupFilter;
  onFilter: (filter: BackupFilter) => void;
  /** Uid of the backup whose details are shown. */
  opened: number | undefined;
  onOpen: (uid: number | undefined) => void;
  headerEnd?: ReactNode;
  empty: ReactNode;
}

export function BackupTable({ bdb, filter, onFilter, opened, onOpen, headerEnd, empty }: Props) {
  const { data, error } = useQuery(backupsQuery);
  const { data: bdbs } = useQuery(shownBdbsQuery);
  const may = usePermission('edit');
  const [dialog, setDialog] = useState<BackupDialog | null>(null);
  const all = filterBackups(data, { bdb });
  const shown = filterBackups(all, filter);
  const columns = useMemo(
    () =>
      columnsOf({ bdbs: bdbs ?? [], onOpen, onDialog: setDialog, may }).filter(
        ({ id }) => bdb === undefined || id !== 'database',
      ),
    [bdbs, bdb, may, onOpen],
  );
  const openedBackup = data?.find(({ uid }) => uid === opened);
  return (
    <Card flush title="Backups" headerEnd={headerEnd}>
      {!data && error ? (
        <Alert color="red">{messageOf(error)}</Alert>
      ) : all?.length === 0 ? (
        empty
      ) : (
        <>
          <BackupFilters
            databases={bdb === undefined ? databasesOf(data ?? [], bdbs ?? []) : []}
            filter={filter}
            onFilter={onFilter}
          />
          <DataTable
            label="Backups"
            columns={columns}
            rows={shown}
            rowKey={({ uid }) => uid}
            onOpen={({ uid }) => onOpen(uid)}
            initialSort={{ id: 'started', descending: true }}
            empty={<p className={classes.none}>No backups match these filters.</p>}
          />
        </>
      )}
      {openedBackup && (
        <BackupDetails
          backup={openedBackup}
          actions={<BackupActions backup={openedBackup} may={may} onDialog={setDialog} />}
          onClose={() => onOpen(undefined)}
        />
      )}
      <BackupDialogs dialog={dialog} onClose={() => setDialog(null)} />
    </Card>
  );
}

/** Return the databases that have backups, including deleted ones. */
function databasesOf(backups: readonly Backup[], bdbs: readonly Bdb[]) {
  const names = new Map(backups.map(({ bdb_uid, bdb_name }) => [bdb_uid, bdb_name]));
  for (const { uid, name } of bdbs) if (names.has(uid)) names.set(uid, name);
  return [...names].map(([uid, name]) => ({ value: String(uid), label: name }));
}

interface FiltersProps {
  databases: readonly { value: string; label: string }[];
  filter: BackupFilter;
  onFilter: (filter: BackupFilter) => void;
}

function BackupFilters({ databases, filter, onFilter }: FiltersProps) {
  return (
    <div className={classes.filters}>
      {databases.length > 0 && (
        <NativeSelect
          size="xs"
          aria-label="Database"
          value={String(filter.bdb ?? '')}
          onChange={({ currentTarget: { value } }) =>
            onFilter({ ...filter, bdb: Number(value) || undefined })
          }
          data={[{ value: '', label: 'All databases' }, ...databases]}
        />
      )}
      <NativeSelect
        size="xs"
        aria-label="Status"
        value={filter.status ?? ''}
        onChange={({ currentTarget: { value } }) =>
          onFilter({ ...filter, status: (value || undefined) as BackupFilter['status'] })
        }
        data={[{ value: '', label: 'All statuses' }, ...STATUS_CHOICES]}
      />
    </div>
  );
}

interface ColumnContext {
  bdbs: readonly Bdb[];
  may: boolean;
  onOpen: (uid: number) => void;
  onDialog: (dialog: BackupDialog) => void;
}

function columnsOf({ bdbs, may, onOpen, onDialog }: ColumnContext): Column<Backup>[] {
  return [
    {
      id: 'started',
      header: 'Started',
      sort: ({ created_at }) => Date.parse(created_at),
      descendingFirst: true,
      cell: (backup) => (
        <>
          <button type="button" className={classes.open} onClick={() => onOpen(backup.uid)}>
            <Ago time={backup.created_at} />
          </button>{' '}
          <EncryptedMark backup={backup} />
        </>
      ),
    },
    {
      id: 'database',
      header: 'Database',
      sort: ({ bdb_name }) => bdb_name,
      cell: (backup) => <DatabaseLink backup={backup} bdbs={bdbs} />,
    },
    {
      id: 'status',
      header: 'Status',
      sort: ({ status }) => status,
      cell: (backup) => {
        const { tone, text } = backupStatus(backup);
        return (
          <Status tone={tone} title={backup.detail}>
            {text}
          </Status>
        );
      },
    },
    {
      id: 'verified',
      header: 'Verified',
      cell: (backup) => <Verified backup={backup} />,
    },
    {
      id: 'size',
      header: 'Stored / raw',
      align: 'right',
      sort: ({ bytes }) => bytes,
      descendingFirst: true,
      cell: (backup) => (
        <span
          className="num"
          title={`${formatExact('bytes', backup.bytes)} stored, ${formatExact('bytes', backup.raw_bytes)} uncompressed`}
        >
          {sizeText(backup)}
        </span>
      ),
    },
    {
      id: 'keys',
      header: 'Keys',
      align: 'right',
      sort: ({ keys }) => keys,
      descendingFirst: true,
      cell: ({ keys }) => (
        <span className="num" title={formatExact('count', keys)}>
          {format('count', keys)}
        </span>
      ),
    },
    {
      id: 'duration',
      header: 'Duration',
      align: 'right',
      optional: true,
      cell: (backup) => <Duration of={backup} />,
    },
    {
      id: 'location',
      header: 'Location',
      optional: true,
      sort: ({ location_name }) => location_name,
      cell: ({ location_name, path }) => (
        <span className={classes.place} title={path}>
          {location_name}
        </span>
      ),
    },
    {
      id: 'trigger',
      header: 'Trigger',
      optional: true,
      sort: triggerText,
      cell: triggerText,
    },
    {
      id: 'menu',
      header: '',
      align: 'right',
      width: 48,
      cell: (backup) => <BackupActions backup={backup} may={may} onDialog={onDialog} />,
    },
  ];
}

function DatabaseLink({ backup, bdbs }: { backup: Backup; bdbs: readonly Bdb[] }) {
  const bdb = bdbs.find(({ uid }) => uid === backup.bdb_uid);
  if (!bdb) return <span title="The database no longer exists">{backup.bdb_name}</span>;
  return (
    <Link to="/databases/$uid/backups" params={{ uid: String(bdb.uid) }}>
      {bdb.name}
    </Link>
  );
}
