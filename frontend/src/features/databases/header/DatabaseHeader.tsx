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
import {
  deleteBdb,
  flushBdb,
  resetAdminPassword,
  stopTraffic,
  useDatabaseName,
} from '@/api/databases/bdbs';
import type { Bdb } from '@/api/types';
import { CopyInline } from '@/ui/Copy';
import { ConfirmByTyping } from '@/ui/forms/ConfirmByTyping';
import { SubmitDialog } from '@/ui/forms/SubmitDialog';
import { Status } from '@/ui/Status';
import classes from '../databases.module.css';
import { RebalanceDialog } from '../plan/RebalanceDialog';
import { bdbState, endpointOf, isIncomplete } from '../status';
import { IncompleteChange } from './IncompleteChange';
import { RepairNotice } from './RepairNotice';
import { SwitchBackNotice } from './SwitchBackNotice';
import { TrafficStopped } from './TrafficStopped';
import { UpgradeDialog } from './UpgradeDialog';

type DialogName = 'flush' | 'password' | 'delete' | 'rebalance' | 'stop' | 'upgrade';

interface Props {
  bdb: Bdb;
  onDeleted: () => void;
}

export function DatabaseHeader({ bdb, onDeleted }: Props) {
  const { tone, text, title } = bdbState(bdb);
  const [dialog, setDialog] = useState<DialogName | null>(null);
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
      <SwitchBackNotice bdb={bdb} />
      {dialog === 'rebalance' && <RebalanceDialog bdb={bdb} onClose={close} />}
      {dialog === 'upgrade' && <UpgradeDialog bdb={bdb} onClose={close} />}
      {dialog === 'password' && (
        <SubmitDialog
          title={`Change the internal password of ${name}?`}
          action="Change password"
          onConfirm={() => resetAdminPassword(bdb.uid)}
          onClose={close}
        >
          <span>
            The console, the agents, and replicas authenticate to the shards with this password. The
            new password is random and is never displayed. Clients are not affected, because they
            use other passwords.
          </span>
        </SubmitDialog>
      )}
      {dialog === 'stop' && (
        <ConfirmByTyping
          title={`Stop traffic to ${name}?`}
          warning="All clients are disconnected and cannot connect until you resume traffic. The data is kept, and failovers still take place."
          name={name}
          action="Stop traffic"
          onConfirm={() => stopTraffic(bdb.uid)}
          onClose={close}
        />
      )}
      {dialog === 'flush' && (
        <ConfirmByTyping
          title={`Flush ${name}?`}
          warning="All keys of all shards are deleted. The database and its settings are kept. This cannot be undone."
          name={name}
          action="Flush database"
          onConfirm={() => flushBdb(bdb.uid)}
          onClose={close}
        />
      )}
      {dialog === 'delete' && (
        <ConfirmByTyping
          title={`Delete ${name}?`}
          warning="All shards are stopped and all data is deleted. This cannot be undone."
          name={name}
          action="Delete database"
          onConfirm={async () => {
            await deleteBdb(bdb.uid);
            onDeleted();
          }}
          onClose={close}
        />
      )}
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
