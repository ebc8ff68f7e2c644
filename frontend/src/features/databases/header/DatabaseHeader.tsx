/** Header of a database: name, state, endpoint address and actions. */
import { ActionIcon, Alert, Menu } from '@mantine/core';
import {
  IconArrowUpCircle,
  IconDotsVertical,
  IconEraser,
  IconKey,
  IconPlugConnectedX,
  IconScale,
  IconTrash,
} from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { ROLE_DENIED_TEXT, usePermission } from '@/api/access/session';
import { useDatabaseName } from '@/api/databases/bdbs';
import type { Bdb } from '@/api/types';
import { CopyInline } from '@/ui/Copy';
import { Status } from '@/ui/Status';
import classes from '../databases.module.css';
import { bdbState, endpointOf, isIncomplete } from '../status';
import { DatabaseDialog, type DatabaseDialogName } from './DatabaseDialog';
import { IncompleteChange } from './IncompleteChange';
import { RepairNotice } from './RepairNotice';
import { SwitchBackNotice } from './SwitchBackNotice';
import { TrafficStopped } from './TrafficStopped';

interface Props {
  bdb: Bdb;
  onDeleted: () => void;
}

export function DatabaseHeader({ bdb, onDeleted }: Props) {
  const { tone, text, title } = bdbState(bdb);
  const [dialog, setDialog] = useState<DatabaseDialogName | null>(null);
  const name = useDatabaseName(bdb);
  const may = usePermission('edit');
  const close = () => setDialog(null);
  return (
    <>
      <div className={classes.head}>
        <div className={classes.identity}>
          <h1>{name}</h1>
          <Status chip tone={tone} title={title}>
            {text}
          </Status>
          <Connect bdb={bdb} />
        </div>
        <Menu position="bottom-end">
          <Menu.Target>
            <ActionIcon variant="default" aria-label="Database actions">
              <IconDotsVertical size={16} />
            </ActionIcon>
          </Menu.Target>
          <Menu.Dropdown>
            {!may && <Menu.Label>{ROLE_DENIED_TEXT}</Menu.Label>}
            <Menu.Item
              leftSection={<IconScale size={15} />}
              disabled={!may || bdb.status !== 'active'}
              onClick={() => setDialog('rebalance')}
            >
              Rebalance…
            </Menu.Item>
            <Menu.Item
              leftSection={<IconArrowUpCircle size={15} />}
              disabled={!may || bdb.status !== 'active'}
              onClick={() => setDialog('upgrade')}
            >
              Upgrade engine…
            </Menu.Item>
            <Menu.Item
              leftSection={<IconKey size={15} />}
              disabled={!may || bdb.status !== 'active'}
              onClick={() => setDialog('password')}
            >
              Change internal password…
            </Menu.Item>
            <Menu.Item
              leftSection={<IconPlugConnectedX size={15} />}
              disabled={!may || bdb.status !== 'active' || bdb.traffic_manually_disabled}
              onClick={() => setDialog('stop')}
            >
              Stop traffic…
            </Menu.Item>
            <Menu.Item
              leftSection={<IconEraser size={15} />}
              disabled={!may || bdb.status !== 'active'}
              onClick={() => setDialog('flush')}
            >
              Flush…
            </Menu.Item>
            <Menu.Item
              color="var(--broken)"
              leftSection={<IconTrash size={15} />}
              disabled={!may || bdb.status === 'delete-pending'}
              onClick={() => setDialog('delete')}
            >
              Delete…
            </Menu.Item>
          </Menu.Dropdown>
        </Menu>
      </div>
      {bdb.status === 'creation-failed' && <CreationFailed bdb={bdb} />}
      {bdb.mismatch && <RepairNotice bdb={bdb} />}
      {isIncomplete(bdb) && <IncompleteChange bdb={bdb} />}
      {bdb.traffic_manually_disabled && <TrafficStopped bdb={bdb} />}
      <div className={classes.notice}>
        <SwitchBackNotice bdb={bdb} />
      </div>
      {dialog && <DatabaseDialog bdb={bdb} dialog={dialog} onClose={close} onDeleted={onDeleted} />}
    </>
  );
}

function Connect({ bdb }: { bdb: Bdb }) {
  const endpoint = endpointOf(bdb);
  if (!endpoint) return null;
  const { host, port } = endpoint;
  return (
    <span className={classes.connect}>
      <CopyInline text={`${host}:${port}`} label="Copy endpoint" />
      <Link to="/databases/$uid/endpoint" params={{ uid: String(bdb.uid) }}>
        How to connect
      </Link>
    </span>
  );
}

function CreationFailed({ bdb }: { bdb: Bdb }) {
  return (
    <Alert
      className={classes.failed}
      color="red"
      title="This database could not be created"
      role="alert"
    >
      <p className={classes.reason}>{bdb.status_detail || 'The console recorded no reason.'}</p>
      The shards that were started have been removed. Check the steps on the Events tab and fix the
      cause. Then delete this database and create it again.
    </Alert>
  );
}
