/** The commands that clients used most in the last minute. */
import { Alert } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { endpointCommandsQuery } from '@/api/commands';
import { messageOf } from '@/api/http';
import type { CommandUse, EndpointCommands } from '@/api/types';
import { format, type Unit } from '@/lib/format';
import { Card } from '@/ui/Card';
import { type Column, DataTable } from '@/ui/DataTable';
import { EmptyState } from '@/ui/EmptyState';
import classes from './endpoint.module.css';

const NOT_MEASURED = 'The endpoint answered these by itself: no shard took any time';

export function CommandTable({ bdb }: { bdb: number }) {
  const { data, error } = useQuery(endpointCommandsQuery(bdb));
  return (
    <Card title="Commands" flush>
      {error && (
        <Alert color="red" role="alert">
          {messageOf(error)} {data ? 'What is shown is older.' : ''}
        </Alert>
      )}
      {data?.commands.length ? (
        <p className={classes.commandsNote}>
          {data.detail && <strong>{data.detail} </strong>}
          The most used ones of the last {format('plain', data.interval)} s, through all proxies.
          Who waits on purpose, as BLPOP does, takes as long as it was told to.
        </p>
      ) : null}
      {(data || !error) && (
        <DataTable
          label="Commands"
          columns={COLUMNS}
          rows={data?.commands}
          rowKey={({ name }) => name}
          empty={<Nothing look={data} />}
        />
      )}
    </Card>
  );
}

function Nothing({ look }: { look: EndpointCommands | undefined }) {
  if (look?.detail) {
    return (
      <EmptyState title="Not known here">
        <span>{look.detail}</span>
      </EmptyState>
    );
  }
  return (
    <EmptyState title="No client has asked for anything in the last minute">
      <span>As soon as clients send commands, the 30 that they use most are listed here.</span>
    </EmptyState>
  );
}

const COLUMNS: Column<CommandUse>[] = [
  {
    id: 'name',
    header: 'Command',
    sort: ({ name }) => name,
    cell: ({ name }) => name.toUpperCase(),
  },
  number('calls', 'Calls', 'perSecond', (row) => row.calls_per_second),
  number('errors', 'Errors', 'perSecond', (row) => row.errors_per_second),
  number('avg', 'Average', 'microseconds', (row) => micros(row.avg_latency)),
  number('p50', 'P50', 'microseconds', (row) => micros(row.p50_latency)),
  number('p99', 'P99', 'microseconds', (row) => micros(row.p99_latency)),
];

function number(
  id: string,
  header: string,
  unit: Unit,
  of: (row: CommandUse) => number | undefined,
): Column<CommandUse> {
  return {
    id,
    header,
    align: 'right',
    sort: (row) => of(row) ?? -1,
    cell: (row) => (
      <span className="num" title={of(row) === undefined ? NOT_MEASURED : undefined}>
        {format(unit, of(row))}
      </span>
    ),
  };
}

const micros = (millis: number | undefined) => (millis === undefined ? undefined : millis * 1_000);
