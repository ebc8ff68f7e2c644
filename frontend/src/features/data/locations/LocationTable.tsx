/** Table of storage locations. Only administrators see their settings and can change them. */
import { ActionIcon, Alert, Button, Menu } from '@mantine/core';
import {
  IconDotsVertical,
  IconEdit,
  IconPlugConnected,
  IconSearch,
  IconTrash,
} from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ROLE_DENIED_TEXT, usePermission } from '@/api/access/session';
import { consoleBackupScheduleQuery, consoleBackupsQuery } from '@/api/cluster/consoleBackups';
import { backupsQuery } from '@/api/data/backups';
import { locationsQuery } from '@/api/data/locations';
import { shownBdbsQuery } from '@/api/databases/bdbs';
import { messageOf } from '@/api/http';
import type { BackupLocation } from '@/api/types';
import { format, formatExact } from '@/lib/format';
import { Ago } from '@/ui/Ago';
import { Card } from '@/ui/Card';
import { Dash } from '@/ui/Dash';
import { EmptyState } from '@/ui/EmptyState';
import { type Column, DataTable } from '@/ui/table/DataTable';
import classes from '../data.module.css';
import { FindBackups } from './FindBackups';
import { AddLocation, DeleteLocation, EditLocation, TestLocation } from './LocationDialogs';
import { placeText } from './locationForm';
import { deleteDeniedReason, type LocationUse, locationUse } from './locationText';
import { typeLabel } from './locationTypes';

const DIALOGS = {
  edit: EditLocation,
  test: TestLocation,
  find: FindBackups,
  delete: DeleteLocation,
} as const;

interface OpenDialog {
  dialog: keyof typeof DIALOGS;
  location: BackupLocation;
}

export function LocationTable() {
  const { data, error } = useQuery(locationsQuery);
  const { data: bdbs = [] } = useQuery(shownBdbsQuery);
  const { data: backups = [] } = useQuery(backupsQuery);
  const [adding, setAdding] = useState(false);
  const [openDialog, setOpenDialog] = useState<OpenDialog | null>(null);
  const may = usePermission('administer');
  const { data: consoleBackups = [] } = useQuery({ ...consoleBackupsQuery, enabled: may });
  const { data: schedule } = useQuery({ ...consoleBackupScheduleQuery, enabled: may });
  const stored = [
    ...backups,
    ...consoleBackups.map((backup) => ({ ...backup, bytes: backup.bytes ?? 0 })),
  ];
  const getUse = (location: BackupLocation) =>
    locationUse(location, bdbs, stored, schedule?.location_uid);
  const Dialog = openDialog && DIALOGS[openDialog.dialog];
  return (
    <Card
      flush
      title="Locations"
      headerEnd={
        <Button
          variant="default"
          disabled={!may}
          title={may ? undefined : ROLE_DENIED_TEXT}
          onClick={() => setAdding(true)}
        >
          Add location
        </Button>
      }
    >
      {!data && error ? (
        <Alert color="red">{messageOf(error)}</Alert>
      ) : (
        <DataTable
          label="Locations"
          columns={columnsOf(getUse, may, setOpenDialog)}
          rows={data}
          rowKey={({ uid }) => uid}
          initialSort={{ id: 'name' }}
          empty={
            <EmptyState title="No locations yet">
              <span>
                A location is where backups are stored: a network file system, a bucket of an object
                store, or a file server.
                {!may && ' Ask an administrator to add one.'}
              </span>
            </EmptyState>
          }
        />
      )}
      {adding && <AddLocation onClose={() => setAdding(false)} />}
      {Dialog && <Dialog location={openDialog.location} onClose={() => setOpenDialog(null)} />}
    </Card>
  );
}

function columnsOf(
  getUse: (location: BackupLocation) => LocationUse,
  may: boolean,
  onOpen: (openDialog: OpenDialog) => void,
): Column<BackupLocation>[] {
  return [
    { id: 'name', header: 'Location', sort: ({ name }) => name, cell: ({ name }) => name },
    {
      id: 'type',
      header: 'Type',
      sort: ({ location }) => typeLabel(location),
      cell: ({ location }) => typeLabel(location),
    },
    {
      id: 'encrypted',
      header: 'Encryption',
      optional: true,
      sort: ({ is_encrypted }) => Number(is_encrypted),
      cell: ({ is_encrypted }) => (is_encrypted ? 'On' : 'Off'),
    },
    {
      id: 'place',
      header: 'Destination',
      cell: ({ location }) => {
        const place = placeText(location);
        return place ? (
          <span className={classes.place} title={place}>
            {place}
          </span>
        ) : (
          <Dash reason="Only administrators see the settings of locations" />
        );
      },
    },
    {
      id: 'backups',
      header: 'Backups',
      align: 'right',
      sort: (location) => getUse(location).bytes,
      descendingFirst: true,
      cell: (location) => {
        const { count, bytes } = getUse(location);
        return (
          <span className="num" title={formatExact('bytes', bytes)}>
            {count ? `${count} (${format('bytes', bytes)})` : '0'}
          </span>
        );
      },
    },
    {
      id: 'used',
      header: 'Schedules',
      optional: true,
      cell: (location) => getUse(location).schedules || <Dash reason="No schedule uses it" />,
    },
    {
      id: 'created',
      header: 'Added',
      optional: true,
      sort: ({ created_at }) => created_at,
      cell: ({ created_at }) => <Ago time={created_at} />,
    },
    ...(may
      ? [
          {
            id: 'menu',
            header: '',
            align: 'right',
            width: 48,
            cell: (location) => (
              <Actions location={location} use={getUse(location)} onOpen={onOpen} />
            ),
          } satisfies Column<BackupLocation>,
        ]
      : []),
  ];
}

interface ActionsProps {
  location: BackupLocation;
  use: LocationUse;
  onOpen: (openDialog: OpenDialog) => void;
}

function Actions({ location, use, onOpen }: ActionsProps) {
  const deleteDenied = deleteDeniedReason(use);
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <ActionIcon variant="subtle" color="gray" aria-label={`Actions for ${location.name}`}>
          <IconDotsVertical size={16} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item
          leftSection={<IconPlugConnected size={15} />}
          onClick={() => onOpen({ dialog: 'test', location })}
        >
          Test…
        </Menu.Item>
        <Menu.Item
          leftSection={<IconSearch size={15} />}
          onClick={() => onOpen({ dialog: 'find', location })}
        >
          Find backups…
        </Menu.Item>
        <Menu.Item
          leftSection={<IconEdit size={15} />}
          onClick={() => onOpen({ dialog: 'edit', location })}
        >
          Edit…
        </Menu.Item>
        {deleteDenied && <Menu.Label>{deleteDenied}</Menu.Label>}
        <Menu.Item
          color="var(--broken)"
          leftSection={<IconTrash size={15} />}
          disabled={deleteDenied !== undefined}
          onClick={() => onOpen({ dialog: 'delete', location })}
        >
          Delete…
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
