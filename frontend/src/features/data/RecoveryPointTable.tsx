/** Restore points of all databases: the age of the newest one is the data that would be lost (RPO). */

import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { ROLE_DENIED_TEXT, usePermission } from '@/api/access/session';
import { backupsQuery, schedulesQuery } from '@/api/data/backups';
import { allRestoreWindowsQuery } from '@/api/data/restores';
import { keptBdbsQuery } from '@/api/databases/bdbs';
import type { BackupScheduleState } from '@/api/types';
import { formatExact } from '@/lib/format';
import type { Zone } from '@/lib/time';
import { Ago, Stamp } from '@/ui/Ago';
import { Bytes } from '@/ui/Bytes';
import { Card } from '@/ui/Card';
import { Dash } from '@/ui/Dash';
import { Status } from '@/ui/Status';
import { type Column, DataTable } from '@/ui/table/DataTable';
import { useZone } from '@/ui/useZone';
import { type RecoveryPoints, recoveryPoints } from './backups/recoveryPoints';
import classes from './data.module.css';
import { RestoreDialog } from './restores/RestoreDialog';
import { periodText, pointsText } from './restores/restoreWindows';

const NONE = 'The database has no backup';

interface ChosenTime {
  bdb: number;
  /** Epoch milliseconds. */
  until: number;
}

type States = readonly BackupScheduleState[] | undefined;

interface ColumnOptions {
  states: States;
  may: boolean;
  zone: Zone;
  onRestore: (chosen: ChosenTime) => void;
}

const columnsOf = ({ states, may, zone, onRestore }: ColumnOptions): Column<RecoveryPoints>[] => [
  {
    id: 'name',
    header: 'Database',
    sort: ({ name }) => name,
    cell: ({ bdb_uid, name, exists }) =>
      exists ? (
        <Link to="/databases/$uid/backups" params={{ uid: String(bdb_uid) }}>
          {name}
        </Link>
      ) : (
        <>
          {name} <span className="dim">(deleted)</span>
        </>
      ),
  },
  {
    id: 'newest',
    header: 'Newest restore point',
    // Databases without a backup first: their data would be lost completely.
    sort: ({ newest }) => newest ?? 0,
    cell: ({ newest }) =>
      newest ? <Ago time={newest} /> : <Status tone="attention">No backup</Status>,
  },
  {
    id: 'oldest',
    header: 'Oldest restore point',
    sort: ({ oldest }) => oldest ?? 0,
    cell: ({ oldest }) => (oldest ? <Ago time={oldest} /> : <Dash reason={NONE} />),
  },
  {
    id: 'periods',
    header: 'Points in time',
    cell: ({ bdb_uid, periods }) => {
      const last = periods.at(-1);
      if (!last) return <Dash reason="No recorded changes follow a backup of the database" />;
      return (
        <div className={classes.points}>
          <span title={periods.map((each) => periodText(each, zone)).join('\n')}>
            {pointsText(periods, zone)}
          </span>
          <button
            type="button"
            className={classes.open}
            disabled={!may}
            title={may ? undefined : ROLE_DENIED_TEXT}
            onClick={() => onRestore({ bdb: bdb_uid, until: last.to })}
          >
            Restore to a time…
          </button>
        </div>
      );
    },
  },
  {
    id: 'next',
    header: 'Next backup',
    isTime: true,
    optional: true,
    cell: ({ bdb_uid }) => (
      <NextBackup state={states?.find((state) => state.bdb_uid === bdb_uid)} />
    ),
  },
  {
    id: 'count',
    header: 'Backups',
    align: 'right',
    sort: ({ count }) => count,
    descendingFirst: true,
    cell: ({ count }) => <span className="num">{count}</span>,
  },
  {
    id: 'bytes',
    header: 'Stored',
    align: 'right',
    optional: true,
    sort: ({ bytes }) => bytes,
    descendingFirst: true,
    cell: ({ bytes, count }) =>
      count ? (
        <span className="num" title={formatExact('bytes', bytes)}>
          <Bytes value={bytes} />
        </span>
      ) : (
        <Dash reason={NONE} />
      ),
  },
];

function NextBackup({ state }: { state: BackupScheduleState | undefined }) {
  if (!state) return <Dash reason="Backups of the database are not scheduled" />;
  if (state.waiting_for)
    return (
      <Status tone="attention" title={state.waiting_for}>
        Waiting
      </Status>
    );
  if (state.retry_at)
    return (
      <Status tone="attention" title="The last backup failed and is retried">
        Retry at <Stamp time={state.retry_at} />
      </Status>
    );
  return <Stamp time={state.next_at ?? undefined} />;
}

export function RecoveryPointTable() {
  const { data: backups } = useQuery(backupsQuery);
  const { data: bdbs } = useQuery(keptBdbsQuery);
  const { data: states } = useQuery(schedulesQuery);
  const { data: windows } = useQuery(allRestoreWindowsQuery);
  const zone = useZone();
  const may = usePermission('edit');
  const [chosen, setChosen] = useState<ChosenTime>();
  const rows = backups && bdbs && recoveryPoints(backups, bdbs, windows ?? []);
  if (rows?.length === 0) return null;
  return (
    <Card flush title="Restore points">
      <DataTable
        label="Restore points"
        columns={columnsOf({ states, may, zone, onRestore: setChosen })}
        rows={rows}
        rowKey={({ bdb_uid }) => bdb_uid}
        initialSort={{ id: 'newest' }}
      />
      {chosen && (
        <RestoreDialog
          target={chosen.bdb}
          until={chosen.until}
          onClose={() => setChosen(undefined)}
        />
      )}
    </Card>
  );
}
