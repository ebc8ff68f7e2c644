/** Backups of the console in storage locations, and their schedule. Only administrators see them. */

import { Alert, Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { usePermission } from '@/api/access/session';
import {
  consoleBackupScheduleQuery,
  consoleBackupsQuery,
  isUnfinished,
} from '@/api/cluster/consoleBackups';
import { locationsQuery } from '@/api/data/locations';
import { messageOf } from '@/api/http';
import type { ConsoleBackup } from '@/api/types';
import { formatExact } from '@/lib/format';
import { Ago, Stamp } from '@/ui/Ago';
import { Bytes } from '@/ui/Bytes';
import { Card } from '@/ui/Card';
import { Dash } from '@/ui/Dash';
import { EmptyState } from '@/ui/EmptyState';
import { Facts } from '@/ui/Facts';
import { Status } from '@/ui/Status';
import { type Column, DataTable } from '@/ui/table/DataTable';
import classes from '../data.module.css';
import {
  ConsoleBackupActions,
  type ConsoleBackupDialog,
  ConsoleBackupDialogs,
} from './ConsoleBackupActions';
import { BackUpConsole, ScheduleConsoleBackups } from './ConsoleBackupDialogs';

type OpenDialog = { name: 'backup' | 'schedule' } | ConsoleBackupDialog;

export function ConsoleBackups() {
  return usePermission('administer') ? <ConsoleBackupCard /> : null;
}

function ConsoleBackupCard() {
  const { data, error } = useQuery(consoleBackupsQuery);
  const { data: schedule } = useQuery(consoleBackupScheduleQuery);
  const { data: locations = [] } = useQuery(locationsQuery);
  const [dialog, setDialog] = useState<OpenDialog | null>(null);
  const close = () => setDialog(null);
  const place = locations.find(({ uid }) => uid === schedule?.location_uid)?.name;
  return (
    <Card
      title="Backups of the console"
      headerEnd={
        <div className={classes.buttons}>
          <Button
            variant="default"
            disabled={data?.some(isUnfinished) ?? true}
            onClick={() => setDialog({ name: 'backup' })}
          >
            Back up console…
          </Button>
          <Button variant="default" onClick={() => setDialog({ name: 'schedule' })}>
            Edit schedule…
          </Button>
        </div>
      }
    >
      {schedule && (
        <Facts
          items={[
            ['Schedule', `${schedule.cron} (${schedule.time_zone})`],
            ['Next backup', schedule.next_at && <Stamp key="next" time={schedule.next_at} />],
            ['Location', place],
            ['Kept', `${schedule.keep} newest, and all manual ones`],
          ]}
        />
      )}
      {!data && error ? (
        <Alert color="red">{messageOf(error)}</Alert>
      ) : (
        <DataTable
          label="Backups of the console"
          columns={columnsOf(setDialog)}
          rows={data}
          rowKey={({ uid }) => uid}
          initialSort={{ id: 'created', descending: true }}
          empty={
            <EmptyState title="The console has no backup">
              <span>
                A backup contains all settings of the cluster, its users, and the console CA, but
                not the data of databases. With it, a lost console can be replaced without rejoining
                the nodes.
              </span>
            </EmptyState>
          }
        />
      )}
      {dialog?.name === 'backup' && <BackUpConsole onClose={close} />}
      {dialog?.name === 'schedule' && schedule !== undefined && (
        <ScheduleConsoleBackups stored={schedule} onClose={close} />
      )}
      {dialog && 'backup' in dialog && <ConsoleBackupDialogs dialog={dialog} onClose={close} />}
    </Card>
  );
}

const STATUS = {
  waiting: { tone: 'unknown', text: 'Waiting' },
  running: { tone: 'progress', text: 'Running' },
  succeeded: { tone: 'ok', text: 'Succeeded' },
  failed: { tone: 'broken', text: 'Failed' },
  deleting: { tone: 'progress', text: 'Deleting' },
} as const;

function Verified({ backup: { is_verifying, verified } }: { backup: ConsoleBackup }) {
  if (is_verifying) return <Status tone="progress">Verifying</Status>;
  if (!verified) return <Dash reason="The backup has not been decrypted and checked" />;
  return (
    <Status tone={verified.ok ? 'ok' : 'broken'} title={verified.detail}>
      <span>
        {verified.ok ? 'Verified' : 'Failed'} <Ago time={verified.at} />
      </span>
    </Status>
  );
}

const columnsOf = (onDialog: (dialog: ConsoleBackupDialog) => void): Column<ConsoleBackup>[] => [
  {
    id: 'created',
    header: 'Started',
    sort: ({ created_at }) => Date.parse(created_at),
    descendingFirst: true,
    cell: ({ created_at }) => <Ago time={created_at} />,
  },
  {
    id: 'status',
    header: 'Status',
    sort: ({ status }) => status,
    cell: ({ status, detail }) => (
      <>
        <Status tone={STATUS[status].tone}>{STATUS[status].text}</Status>
        {detail && <div className="dim">{detail}</div>}
      </>
    ),
  },
  {
    id: 'verified',
    header: 'Verified',
    cell: (backup) => <Verified backup={backup} />,
  },
  {
    id: 'location',
    header: 'Location',
    sort: ({ location_name }) => location_name,
    cell: ({ location_name, path }) => <span title={path}>{location_name}</span>,
  },
  {
    id: 'size',
    header: 'Size',
    align: 'right',
    sort: ({ bytes }) => bytes ?? 0,
    descendingFirst: true,
    cell: ({ bytes }) =>
      bytes === null ? (
        <Dash reason="The backup is not complete" />
      ) : (
        <span className="num" title={formatExact('bytes', bytes)}>
          <Bytes value={bytes} />
        </span>
      ),
  },
  {
    id: 'key',
    header: 'Required for restore',
    optional: true,
    cell: ({ has_store_key, status }) =>
      status === 'succeeded' ? (
        has_store_key ? (
          'Private key of the location'
        ) : (
          'Store key'
        )
      ) : (
        <Dash reason="The backup is not complete" />
      ),
  },
  {
    id: 'by',
    header: 'Started by',
    optional: true,
    cell: ({ is_scheduled, originator }) => (is_scheduled ? 'Schedule' : originator),
  },
  {
    id: 'menu',
    header: '',
    align: 'right',
    width: 48,
    cell: (backup) => <ConsoleBackupActions backup={backup} onDialog={onDialog} />,
  },
];
