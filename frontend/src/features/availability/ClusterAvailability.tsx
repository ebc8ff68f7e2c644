/** Availability of all databases in one month of UTC. */
import { Alert, Button, NativeSelect } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { monthCsvPath, monthQuery } from '@/api/failures/availability';
import { messageOf } from '@/api/http';
import type { AvailabilityMonth } from '@/api/types';
import { Card } from '@/ui/Card';
import { EmptyState } from '@/ui/EmptyState';
import { DataTable } from '@/ui/table/DataTable';
import classes from './availability.module.css';
import { figureColumns } from './columns';
import { TargetInput } from './TargetInput';

interface Props {
  /** Undefined for the current month. */
  month: string | undefined;
  target: number;
  onChange: (change: { month?: string; target?: number }) => void;
}

export function ClusterAvailability({ month, target, onChange }: Props) {
  const { data, error } = useQuery(monthQuery(month));
  const shown = data?.month ?? month;
  const months = [...new Set([...(shown ? [shown] : []), ...(data?.months ?? [])])];
  return (
    <>
      <div className={classes.controls}>
        <NativeSelect
          label="Month (UTC)"
          size="xs"
          data={months.sort().reverse()}
          value={shown ?? ''}
          onChange={({ currentTarget }) => onChange({ month: currentTarget.value })}
        />
        <TargetInput target={target} onTarget={(value) => onChange({ target: value })} />
        {shown && (
          <Button component="a" href={monthCsvPath(shown)} download size="xs" variant="default">
            Export CSV
          </Button>
        )}
      </div>
      {error && !data && (
        <Alert color="red" role="alert">
          {messageOf(error)}
        </Alert>
      )}
      <Card flush>
        <DataTable
          label="Availability of databases"
          rows={data?.databases}
          rowKey={({ bdb_uid }) => bdb_uid}
          columns={[
            {
              id: 'name',
              header: 'Database',
              cell: (row) => <DatabaseLink row={row} />,
              sort: ({ name }) => name,
            },
            ...figureColumns(target),
            {
              id: 'incidents',
              header: 'Incidents',
              align: 'right',
              cell: (row) => <span className="num">{row.incidents}</span>,
              sort: (row) => row.incidents,
            },
          ]}
          empty={
            <EmptyState title="No figures for this month">
              <span>Figures appear a few seconds after a database becomes active.</span>
            </EmptyState>
          }
        />
      </Card>
      <p className={classes.note}>
        Availability is the served time in percent of the served and not served time. Unknown time
        never counts as served. A database counts as served while all its slots are served. Times
        are in UTC.
      </p>
    </>
  );
}

const DatabaseLink = ({ row: { bdb_uid, name, month } }: { row: AvailabilityMonth }) => (
  <Link
    to="/databases/$uid/availability"
    params={{ uid: String(bdb_uid) }}
    search={(now: Record<string, unknown>) => ({ ...now, month })}
  >
    {name}
  </Link>
);
