/** The outages there have been, each with its page. */
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { eventsQuery } from '@/api/events';
import { type Outage, outageOf } from '@/api/story';
import { chronological, outagesQuery } from '@/api/timeline';
import { precise } from '@/lib/time';
import { Ago, Elapsed, Stamp } from '@/ui/Ago';
import { Card } from '@/ui/Card';
import { type Column, DataTable } from '@/ui/DataTable';
import { Status } from '@/ui/Status';

const COLUMNS: readonly Column<Outage>[] = [
  {
    id: 'node',
    header: 'Node',
    cell: ({ node, event }) => (
      <Link to="/timeline/incident/$uid" params={{ uid: String(event.uid) }}>
        node {node}
      </Link>
    ),
  },
  {
    id: 'state',
    header: 'State',
    cell: ({ to }) =>
      to === null ? <Status tone="broken">Down</Status> : <Status tone="ok">Back</Status>,
  },
  { id: 'time', header: 'Down since', cell: ({ event }) => <Stamp time={event.time} /> },
  { id: 'ago', header: 'Age', optional: true, cell: ({ event }) => <Ago time={event.time} /> },
  {
    id: 'lasted',
    header: 'Down for',
    align: 'right',
    cell: ({ from, to }) => (
      <span className="num">
        {to === null ? <Elapsed since={from} /> : precise((to - from) / 1000)}
      </span>
    ),
  },
  {
    id: 'shards',
    header: 'Primaries lost',
    align: 'right',
    cell: ({ primaries }) => <span className="num">{primaries}</span>,
  },
];

export function Incidents() {
  const navigate = useNavigate();
  const kept = useQuery(outagesQuery).data;
  const latest = useQuery(eventsQuery).data;
  if (!kept || !latest) return null;
  const rows = chronological(kept, latest)
    .flatMap((event) => outageOf(event) ?? [])
    .reverse();
  if (!rows.length) return null;
  return (
    <Card title="Incidents" flush>
      <DataTable
        label="Incidents"
        columns={COLUMNS}
        rows={rows}
        rowKey={({ event }) => event.uid}
        onOpen={({ event }) =>
          navigate({ to: '/timeline/incident/$uid', params: { uid: String(event.uid) } })
        }
      />
    </Card>
  );
}
