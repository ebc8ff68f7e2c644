/** Table of incidents with links to their pages. */
import { Link, useNavigate } from '@tanstack/react-router';
import { useIncidents } from '@/api/failures/incidents';
import type { Incident } from '@/api/types';
import { formatPreciseDuration } from '@/lib/time';
import { Ago, Elapsed, Stamp } from '@/ui/Ago';
import { Card } from '@/ui/Card';
import { EmptyState } from '@/ui/EmptyState';
import { Status } from '@/ui/Status';
import { type Column, DataTable } from '@/ui/table/DataTable';
import { databaseName, failedComponent } from './incidentText';

const STATES = {
  down: <Status tone="broken">Down</Status>,
  resyncing: <Status tone="progress">Resyncing</Status>,
  over: <Status tone="ok">Resolved</Status>,
};

/** Maximum number of databases listed in a cell. */
const MAX_LISTED = 3;

const COLUMNS: readonly Column<Incident>[] = [
  {
    id: 'lost',
    header: 'Component',
    cell: (incident) => (
      <Link to="/activity/incidents/$uid" params={{ uid: String(incident.uid) }}>
        {failedComponent(incident)}
      </Link>
    ),
  },
  { id: 'state', header: 'State', cell: ({ state }) => STATES[state] },
  { id: 'time', header: 'Down since', isTime: true, cell: ({ began }) => <Stamp time={began} /> },
  { id: 'ago', header: 'Age', optional: true, cell: ({ began }) => <Ago time={began} /> },
  {
    id: 'lasted',
    header: 'Down for',
    align: 'right',
    cell: ({ detected_ms, returned_ms }) => (
      <span className="num">
        {returned_ms === undefined ? (
          <Elapsed since={detected_ms} />
        ) : (
          formatPreciseDuration((returned_ms - detected_ms) / 1000)
        )}
      </span>
    ),
  },
  {
    id: 'unserved',
    header: 'Not served for',
    align: 'right',
    cell: ({ databases }) => <Unserved databases={databases} />,
  },
];

/** Unavailability of each affected database, longest first. */
function Unserved({ databases }: { databases: Incident['databases'] }) {
  const known = databases
    .filter(({ unserved_ms }) => unserved_ms !== null)
    .sort((a, b) => (b.unserved_ms ?? 0) - (a.unserved_ms ?? 0));
  if (!known.length)
    return (
      <span
        title={databases.length ? 'No client impact was detected' : 'No database lost a primary'}
      >
        –
      </span>
    );
  const durations = known.map(
    (database) =>
      `${databaseName(database)} ${formatPreciseDuration((database.unserved_ms ?? 0) / 1000)}`,
  );
  const more = durations.length - MAX_LISTED;
  return (
    <span className="num" title={durations.join(', ')}>
      {[...durations.slice(0, MAX_LISTED), ...(more > 0 ? [`${more} more`] : [])].join(', ')}
    </span>
  );
}

export function IncidentList() {
  const navigate = useNavigate();
  const rows = useIncidents();
  return (
    <Card flush>
      <DataTable
        label="Incidents"
        columns={COLUMNS}
        rows={rows}
        rowKey={({ uid }) => uid}
        onOpen={({ uid }) =>
          navigate({ to: '/activity/incidents/$uid', params: { uid: String(uid) } })
        }
        empty={
          <EmptyState title="No incidents">
            <span>
              When a node or a single primary is lost, its incident shows when the outage was
              detected, which replicas were promoted, and for how long clients were affected.
            </span>
          </EmptyState>
        }
      />
    </Card>
  );
}
