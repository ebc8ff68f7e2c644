/** Name, state, how to connect, and what can be done to the database. */
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
import { deleteBdb, flushBdb, resetAdminPassword, stopTraffic } from '@/api/bdbs';
import { ROLE_FORBIDS, useMay } from '@/api/session';
import type { Bdb } from '@/api/types';
import { Ask } from '@/ui/Ask';
import { ConfirmByTyping } from '@/ui/ConfirmByTyping';
import { CopyInline } from '@/ui/Copy';
import { Status } from '@/ui/Status';
import classes from './databases.module.css';
import { HandBack } from './HandBack';
import { IncompleteChange } from './IncompleteChange';
import { RebalanceDialog } from './RebalanceDialog';
import { bdbState, endpointOf, isIncomplete } from './status';
import { TrafficStopped } from './TrafficStopped';
import { UpgradeDialog } from './UpgradeDialog';

type Asked = 'flush' | 'password' | 'delete' | 'rebalance' | 'stop' | 'upgrade';

interface Props {
  bdb: Bdb;
  onDeleted: () => void;
}

export function DatabaseHeader({ bdb, onDeleted }: Props) {
  const { tone, text, title } = bdbState(bdb);
  const [asking, setAsking] = useState<Asked | null>(null);
  const may = useMay('edit');
  const close = () => setAsking(null);
  return (
    <>
      <div className={classes.head}>
        <div className={classes.identity}>
          <h1>{bdb.name}</h1>
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
            {!may && <Menu.Label>{ROLE_FORBIDS}</Menu.Label>}
            <Menu.Item
              leftSection={<IconScale size={15} />}
              disabled={!may || bdb.status !== 'active'}
              onClick={() => setAsking('rebalance')}
            >
              Rebalance…
            </Menu.Item>
            <Menu.Item
              leftSection={<IconArrowUpCircle size={15} />}
              disabled={!may || bdb.status !== 'active'}
              onClick={() => setAsking('upgrade')}
            >
              Upgrade engine…
            </Menu.Item>
            <Menu.Item
              leftSection={<IconKey size={15} />}
              disabled={!may || bdb.status !== 'active'}
              onClick={() => setAsking('password')}
            >
              Change internal password…
            </Menu.Item>
            <Menu.Item
              leftSection={<IconPlugConnectedX size={15} />}
              disabled={!may || bdb.status !== 'active' || bdb.traffic_manually_disabled}
              onClick={() => setAsking('stop')}
            >
              Stop traffic…
            </Menu.Item>
            <Menu.Item
              leftSection={<IconEraser size={15} />}
              disabled={!may || bdb.status !== 'active'}
              onClick={() => setAsking('flush')}
            >
              Flush…
            </Menu.Item>
            <Menu.Item
              color="var(--broken)"
              leftSection={<IconTrash size={15} />}
              disabled={!may || bdb.status === 'delete-pending'}
              onClick={() => setAsking('delete')}
            >
              Delete…
            </Menu.Item>
          </Menu.Dropdown>
        </Menu>
      </div>
      {bdb.status === 'creation-failed' && <CreationFailed bdb={bdb} />}
      {isIncomplete(bdb) && <IncompleteChange bdb={bdb} />}
      {bdb.traffic_manually_disabled && <TrafficStopped bdb={bdb} />}
      <HandBack bdb={bdb} />
      {asking === 'rebalance' && <RebalanceDialog bdb={bdb} onClose={close} />}
      {asking === 'upgrade' && <UpgradeDialog bdb={bdb} onClose={close} />}
      {asking === 'password' && (
        <Ask
          title={`Change the internal password of ${bdb.name}?`}
          action="Change it"
          onConfirm={() => resetAdminPassword(bdb.uid)}
          onClose={close}
        >
          <span>
            By it the console and its agents command the shards, and replicas copy from their
            primaries. Nobody knows it, and the new one is made at random. Clients notice nothing:
            their own passwords stay.
          </span>
        </Ask>
      )}
      {asking === 'stop' && (
        <ConfirmByTyping
          title={`Stop the traffic of ${bdb.name}?`}
          warning="All its clients are disconnected, and nobody can connect until traffic is resumed. Data stays, and failovers go on."
          name={bdb.name}
          action="Stop traffic"
          onConfirm={() => stopTraffic(bdb.uid)}
          onClose={close}
        />
      )}
      {asking === 'flush' && (
        <ConfirmByTyping
          title={`Flush ${bdb.name}?`}
          warning="All keys of all shards are removed. The database itself stays. This cannot be undone."
          name={bdb.name}
          action="Flush database"
          onConfirm={() => flushBdb(bdb.uid)}
          onClose={close}
        />
      )}
      {asking === 'delete' && (
        <ConfirmByTyping
          title={`Delete ${bdb.name}?`}
          warning="All its shards are stopped and all its data is removed. This cannot be undone."
          name={bdb.name}
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
      <p className={classes.reason}>{bdb.status_detail || 'The console gave no reason.'}</p>
      What it had started was stopped again. See the Events tab for the steps, mend the cause, then
      delete this entry and create the database again.
    </Alert>
  );
}
