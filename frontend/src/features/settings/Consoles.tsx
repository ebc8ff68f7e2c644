/** Consoles that use the same store: which one leads, planned change of the leader, and removal of lost ones. */
import { Alert, Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ROLE_DENIED_TEXT } from '@/api/access/session';
import { consolesQuery, makeLeader, removeConsole } from '@/api/cluster/consoles';
import { messageOf } from '@/api/http';
import type { ClusterConsole } from '@/api/types';
import { useInvalidateAfter } from '@/api/useInvalidateAfter';
import { Ago, DurationSince } from '@/ui/Ago';
import { Card } from '@/ui/Card';
import { SubmitDialog } from '@/ui/forms/SubmitDialog';
import { Status } from '@/ui/Status';
import { type Column, DataTable } from '@/ui/table/DataTable';
import classes from './settings.module.css';

interface Operation {
  kind: 'lead' | 'remove';
  console: ClusterConsole;
}

export function Consoles({ may }: { may: boolean }) {
  const { data: consoles, error } = useQuery(consolesQuery);
  const [operation, setOperation] = useState<Operation>();
  const close = () => setOperation(undefined);
  const invalidateAfter = useInvalidateAfter(consolesQuery);
  if (consoles && consoles.length < 2)
    return (
      <Card title="Consoles">
        <p className={classes.intro}>
          This cluster has one console. Several consoles that share a PostgreSQL database take over
          from each other.
        </p>
      </Card>
    );
  return (
    <div className={classes.form}>
      <Card title="Consoles">
        <p className={classes.intro}>
          All consoles serve this web UI and the REST API. The leader also monitors and changes the
          nodes. If it fails, another console becomes the leader within two seconds.
        </p>
        {error && !consoles ? (
          <Alert color="red">{messageOf(error)}</Alert>
        ) : (
          <>
            <LastChange leader={consoles?.find(({ is_leader }) => is_leader)} />
            <DataTable
              label="Consoles"
              rows={consoles}
              rowKey={({ uid }) => uid}
              columns={columnsOf(may, setOperation)}
            />
          </>
        )}
      </Card>
      {operation?.kind === 'lead' && (
        <SubmitDialog
          title={`Make ${operation.console.host} the leader?`}
          action="Make leader"
          onConfirm={() => invalidateAfter(makeLeader(operation.console.uid))}
          onClose={close}
        >
          <span>
            The current leader finishes its work first, which takes less than a second. Requests are
            not affected.
          </span>
        </SubmitDialog>
      )}
      {operation?.kind === 'remove' && (
        <SubmitDialog
          title={`Remove ${operation.console.host} from the list?`}
          action="Remove console"
          onConfirm={() => invalidateAfter(removeConsole(operation.console.uid))}
          onClose={close}
        >
          <span>Its alarm ends. If the console starts again, it is listed again.</span>
        </SubmitDialog>
      )}
    </div>
  );
}

const REASONS: Record<NonNullable<ClusterConsole['leader_reason']>, string> = {
  started: 'it was started and no other console led',
  stopped: 'the former leader was stopped',
  expired: 'the former leader failed, or could not reach the store',
  handed_over: 'a user requested it',
  more_agents: 'it reaches more agents than the former leader',
};

function LastChange({ leader }: { leader: ClusterConsole | undefined }) {
  if (!leader?.leader_since) return null;
  const reason = leader.leader_reason && `: ${REASONS[leader.leader_reason]}`;
  return (
    <p className={classes.intro}>
      {leader.host} became the leader <Ago time={leader.leader_since} />
      {reason}.
    </p>
  );
}

function ConsoleStatus({ console }: { console: ClusterConsole }) {
  if (console.is_leader)
    return (
      <Status tone="ok">
        Leader
        <DurationSince since={console.leader_since ?? undefined} />
      </Status>
    );
  if (console.status === 'running') return <Status tone="ok">Running</Status>;
  return console.status === 'stopped' ? (
    <Status tone="unknown">Stopped</Status>
  ) : (
    <Status tone="attention">Lost</Status>
  );
}

const columnsOf = (
  may: boolean,
  start: (operation: Operation) => void,
): Column<ClusterConsole>[] => [
  {
    id: 'host',
    header: 'Host',
    sort: ({ host }) => host,
    cell: ({ host, is_current }) => (
      <span>
        {host}
        {is_current && <span className="dim"> (this console)</span>}
      </span>
    ),
  },
  {
    id: 'address',
    header: 'Address',
    optional: true,
    sort: ({ address }) => address,
    cell: ({ address }) => address,
  },
  {
    id: 'version',
    header: 'Version',
    optional: true,
    sort: ({ version }) => version,
    cell: ({ version }) => version,
  },
  {
    id: 'release',
    header: 'Release',
    align: 'right',
    optional: true,
    sort: ({ release }) => release ?? 0,
    cell: ({ release }) => release ?? '–',
  },
  {
    id: 'status',
    header: 'Status',
    sort: ({ is_leader, status }) => (is_leader ? 'leader' : status),
    cell: (row) => <ConsoleStatus console={row} />,
  },
  {
    id: 'seen',
    header: 'Last seen',
    sort: ({ seen_at }) => seen_at,
    cell: ({ seen_at }) => <Ago time={seen_at} />,
  },
  {
    id: 'delay',
    header: 'Store delay',
    align: 'right',
    sort: ({ store_delay_ms }) => store_delay_ms ?? 0,
    cell: ({ store_delay_ms }) =>
      store_delay_ms === null || store_delay_ms === undefined
        ? '–'
        : `${store_delay_ms.toFixed(1)} ms`,
  },
  {
    id: 'agents',
    header: 'Agents reached',
    align: 'right',
    sort: ({ agents_reached }) => agents_reached ?? 0,
    cell: ({ agents_reached }) => agents_reached ?? '–',
  },
  {
    id: 'operation',
    header: '',
    align: 'right',
    cell: (row) => {
      if (row.is_leader) return null;
      const kind = row.status === 'running' ? 'lead' : 'remove';
      return (
        <Button
          variant="default"
          size="compact-sm"
          disabled={!may}
          title={may ? undefined : ROLE_DENIED_TEXT}
          onClick={() => start({ kind, console: row })}
        >
          {kind === 'lead' ? 'Make leader…' : 'Remove…'}
        </Button>
      );
    },
  },
];
