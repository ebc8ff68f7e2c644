/** Slow log, clients and INFO of a shard's engine. A section is requested when it is expanded. */

import { Alert, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { ROLE_DENIED_TEXT, usePermission } from '@/api/access/session';
import {
  engineInfoQuery,
  shardClientsQuery,
  slowLogQuery,
} from '@/api/databases/engineDiagnostics';
import { messageOf } from '@/api/http';
import type { ShardClients, SlowLog } from '@/api/types';
import { format, plural } from '@/lib/format';
import { duration } from '@/lib/time';
import { Ago } from '@/ui/Ago';
import { Bytes } from '@/ui/Bytes';
import { Dash } from '@/ui/Dash';
import { type Column, DataTable } from '@/ui/table/DataTable';
import classes from './Placement.module.css';

export function ShardDiagnostics({ shard }: { shard: string }) {
  return (
    <div className={classes.diagnostics}>
      <Section title="Slow log">
        <SlowCommands shard={shard} />
      </Section>
      <Section title="Clients">
        <Clients shard={shard} />
      </Section>
      <Section title="Engine INFO">
        <Info shard={shard} />
      </Section>
    </div>
  );
}

function Section({ title, children }: { title: string; children: ReactNode }) {
  const [open, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{title}</summary>
      {open && children}
    </details>
  );
}

type Entry = SlowLog['entries'][number];

const COLUMNS: readonly Column<Entry>[] = [
  { id: 'at', header: 'Time', cell: ({ at }) => <Ago time={at * 1000} /> },
  {
    id: 'took',
    header: 'Duration',
    align: 'right',
    sort: ({ microseconds }) => microseconds,
    cell: ({ microseconds }) => <span className="num">{format('latency', microseconds)}</span>,
  },
  {
    id: 'command',
    header: 'Command',
    cell: ({ arguments: words }) => (
      <code className={classes.slowCommand} title={words.join(' ')}>
        {words.join(' ')}
      </code>
    ),
  },
  {
    id: 'client',
    header: 'Client',
    cell: ({ client, client_name }) => (
      <span title={client_name}>{client || <Dash reason="Not reported by the engine" />}</span>
    ),
  },
];

function SlowCommands({ shard }: { shard: string }) {
  const may = usePermission('edit');
  const { data, error } = useQuery({ ...slowLogQuery(shard), enabled: may });
  if (!may)
    return <p className="dim small">{ROLE_DENIED_TEXT}. The slow log contains keys and data.</p>;
  if (error && !data) return <Failure error={error} />;
  const threshold = data && format('latency', data.threshold_us);
  return (
    <>
      <DataTable
        label="Slow log"
        columns={COLUMNS}
        rows={data?.entries}
        rowKey={({ id }) => id}
        empty={
          <p className="dim small">
            {data && data.threshold_us < 0
              ? 'The slow log of this shard is disabled.'
              : `No command took longer than ${threshold} since this shard started.`}
          </p>
        }
      />
      {data && data.entries.length > 0 && (
        <p className="dim small">
          Commands that took longer than {threshold} to execute, without the time in the queue.
          Clients of the endpoint appear with the address of their proxy.
        </p>
      )}
    </>
  );
}

type Client = ShardClients['clients'][number];

const KINDS: Readonly<Record<Client['kind'], string>> = {
  application: 'Application',
  endpoint: 'Endpoint proxy',
  replica: 'Replica',
  primary: 'Primary',
  console: 'Console or agent',
};

const CLIENT_COLUMNS: readonly Column<Client>[] = [
  {
    id: 'addr',
    header: 'Client',
    sort: ({ addr }) => addr,
    cell: ({ addr, name }) => <span title={name}>{addr || 'Same node'}</span>,
  },
  { id: 'kind', header: 'Type', sort: ({ kind }) => kind, cell: ({ kind }) => KINDS[kind] },
  {
    id: 'user',
    header: 'User',
    sort: ({ user }) => user,
    cell: ({ user, library }) => (
      <span title={library}>{user || <Dash reason="Not authenticated" />}</span>
    ),
  },
  {
    id: 'connected',
    header: 'Connected',
    align: 'right',
    sort: ({ connected_seconds }) => connected_seconds,
    cell: ({ connected_seconds }) => <span className="num">{duration(connected_seconds)}</span>,
  },
  {
    id: 'idle',
    header: 'Idle',
    align: 'right',
    sort: ({ idle_seconds }) => idle_seconds,
    cell: ({ idle_seconds }) => <span className="num">{duration(idle_seconds)}</span>,
  },
  {
    id: 'command',
    header: 'Last command',
    cell: ({ command }) =>
      command ? <code>{command.replace('|', ' ').toUpperCase()}</code> : <Dash reason="None yet" />,
  },
  {
    id: 'memory',
    header: 'Memory',
    align: 'right',
    sort: ({ memory_bytes }) => memory_bytes,
    cell: ({ memory_bytes }) => <Bytes value={memory_bytes} />,
  },
];

function Clients({ shard }: { shard: string }) {
  const { data, error } = useQuery(shardClientsQuery(shard));
  if (error && !data) return <Failure error={error} />;
  const hidden = data ? data.total - data.clients.length : 0;
  return (
    <>
      <DataTable
        label="Clients"
        columns={CLIENT_COLUMNS}
        rows={data?.clients}
        rowKey={({ id }) => id}
        empty={<p className="dim small">No clients are connected to this shard.</p>}
      />
      <p className="dim small">
        {hidden > 0 &&
          `${plural(hidden, 'more client')} ${hidden === 1 ? 'is' : 'are'} not shown: the table lists the clients that use the most memory. `}
        Clients of the endpoint share the connections of its proxies.
      </p>
    </>
  );
}

function Info({ shard }: { shard: string }) {
  const [filter, setFilter] = useState('');
  const { data, error } = useQuery(engineInfoQuery(shard));
  if (error && !data) return <Failure error={error} />;
  const found = Object.entries(data?.sections ?? {})
    .map(([section, values]) => [section, matching(values, filter)] as const)
    .filter(([, values]) => values.length > 0);
  return (
    <>
      <TextInput
        size="xs"
        aria-label="Filter INFO"
        placeholder="Filter, for example memory"
        value={filter}
        onChange={(event) => setFilter(event.currentTarget.value)}
      />
      <dl className={classes.info} aria-label="Engine INFO">
        {found.map(([section, values]) => (
          <div key={section}>
            <dt>{section}</dt>
            {values.map(([name, value]) => (
              <dd key={name}>
                <code>{name}</code> <span>{value}</span>
              </dd>
            ))}
          </div>
        ))}
      </dl>
      {data && found.length === 0 && <p className="dim small">No matches</p>}
    </>
  );
}

const matching = (values: Readonly<Record<string, string>>, filter: string) =>
  Object.entries(values).filter(([name]) => name.includes(filter.trim().toLowerCase()));

const Failure = ({ error }: { error: unknown }) => (
  <Alert color="red" role="alert">
    {messageOf(error)}
  </Alert>
);
