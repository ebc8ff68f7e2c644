/** Table of the most used commands of the last minute. */
import { Alert } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { messageOf } from '@/api/http';
import { endpointCommandsQuery } from '@/api/metrics/commandStats';
import type { CommandUse, EndpointCommands } from '@/api/types';
import { format, type Unit } from '@/lib/format';
import { Card } from '@/ui/Card';
import { EmptyState } from '@/ui/EmptyState';
import { type Column, DataTable } from '@/ui/table/DataTable';
import classes from './endpoint.module.css';

const NOT_MEASURED = 'Served by the endpoint itself: no shard latency was measured';

export function CommandTable({ bdb }: { bdb: number }) {
  const { data, error } = useQuery(endpointCommandsQuery(bdb));
  return (
    <Card title="Commands" flush>
      {error && (
        <Alert color="red" role="alert">
          {messageOf(error)} {data ? 'The table shows older data.' : ''}
        </Alert>
      )}
      {data?.commands.length ? (
        <p className={classes.commandsNote}>
          {data.detail && <strong>{data.detail} </strong>}
          Most used commands of the last {format('plain', data.interval)} s, over all proxies. The
          latency of blocking commands such as BLPOP includes the time that they wait.
        </p>
      ) : null}
      {(data || !error) && (
        <DataTable
          label="Commands"
          columns={COLUMNS}
          rows={data?.commands}
          rowKey={({ name }) => name}
          empty={<NoCommands snapshot={data} />}
        />
      )}
    </Card>
  );
}

function NoCommands({ snapshot }: { snapshot: EndpointCommands | undefined }) {
  if (snapshot?.detail) {
    return (
      <EmptyState title="Not available">
        <span>{snapshot.detail}</span>
      </EmptyState>
    );
  }
  return (
    <EmptyState title="No commands in the last minute">
      <span>The 30 most used commands appear here when clients send requests.</span>
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
