/** Availability of one database by month of UTC, and the incidents of the selected month. */
import { Alert, Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { usePermission } from '@/api/access/session';
import {
  databaseCsvPath,
  databaseMonthsQuery,
  MAX_INCIDENTS,
  monthIncidentsQuery,
} from '@/api/failures/availability';
import { messageOf } from '@/api/http';
import type { Incident } from '@/api/types';
import { Stamp } from '@/ui/Ago';
import { Card } from '@/ui/Card';
import { EmptyState } from '@/ui/EmptyState';
import { DataTable } from '@/ui/table/DataTable';
import classes from './availability.module.css';
import { figureColumns } from './columns';
import { secondsText } from './serviceLevel';
import { TargetInput } from './TargetInput';

interface Props {
  bdb: number;
  /** Month whose incidents are listed; undefined for the newest. */
  month: string | undefined;
  target: number;
  onChange: (change: { month?: string; target?: number }) => void;
}

export function DatabaseAvailability({ bdb, month, target, onChange }: Props) {
  const { data, error } = useQuery(databaseMonthsQuery(bdb));
  const mayReadIncidents = usePermission('readIncidents');
  const selected = month ?? data?.months[0]?.month;
  const newest = data?.months[0];
  return (
    <>
      <div className={classes.controls}>
        <TargetInput target={target} onTarget={(value) => onChange({ target: value })} />
        <Button component="a" href={databaseCsvPath(bdb)} download size="xs" variant="default">
          Export CSV
        </Button>
      </div>
      {error && !data && (
        <Alert color="red" role="alert">
          {messageOf(error)}
        </Alert>
      )}
      <Card title="Months (UTC)" flush>
        <DataTable
          label="Availability by month"
          rows={data?.months}
          rowKey={(row) => row.month}
          columns={[
            {
              id: 'month',
              header: 'Month',
              cell: (row) => (
                <button
                  type="button"
                  className={classes.month}
                  aria-pressed={row.month === selected}
                  onClick={() => onChange({ month: row.month })}
                >
                  {row.month}
                </button>
              ),
            },
            ...figureColumns(target),
          ]}
          empty={
            <EmptyState title="No figures yet">
              <span>Figures appear a few seconds after the database becomes active.</span>
            </EmptyState>
          }
        />
      </Card>
      {newest && (
        <p className={classes.note}>
          Counted until <Stamp time={newest.counted_until} />. Unknown time never counts as served.
        </p>
      )}
      {mayReadIncidents && selected && <Incidents bdb={bdb} month={selected} />}
    </>
  );
}

function Incidents({ bdb, month }: { bdb: number; month: string }) {
  const { data } = useQuery(monthIncidentsQuery(bdb, month));
  return (
    <Card title={`Incidents in ${month}`} flush>
      <DataTable
        label="Incidents of the month"
        rows={data}
        rowKey={({ uid }) => uid}
        columns={[
          {
            id: 'lost',
            header: 'Component',
            cell: (incident) => (
              <Link to="/activity/incidents/$uid" params={{ uid: String(incident.uid) }}>
                {lostComponent(incident)}
              </Link>
            ),
          },
          {
            id: 'time',
            header: 'Down since',
            isTime: true,
            cell: ({ began }) => <Stamp time={began} />,
          },
          {
            id: 'unserved',
            header: 'Not served for',
            align: 'right',
            cell: (incident) => <span className="num">{unservedText(incident, bdb)}</span>,
          },
        ]}
        empty={
          <EmptyState title="No incident affected this database">
            <span>Incidents are listed until the event log no longer contains their events.</span>
          </EmptyState>
        }
      />
      {data?.length === MAX_INCIDENTS && (
        <p className={classes.note}>These are the newest {MAX_INCIDENTS} incidents of the month.</p>
      )}
    </Card>
  );
}

const lostComponent = ({ node_uid, shard_uid }: Incident): string =>
  shard_uid === undefined ? `Node ${node_uid}` : `Shard redis:${shard_uid} on node ${node_uid}`;

function unservedText({ databases }: Incident, bdb: number): string {
  const unserved = databases.find(({ uid }) => uid === bdb)?.unserved_ms;
  return unserved === null || unserved === undefined ? '–' : secondsText(unserved / 1000);
}
