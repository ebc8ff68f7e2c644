/** Tables of an incident: outage, client impact, failovers and resyncs. */
import { useQuery } from '@tanstack/react-query';
import { shownBdbsQuery } from '@/api/databases/bdbs';
import {
  type Failover,
  failoverOf,
  phaseLabel,
  type Resync,
  resyncOf,
} from '@/api/failures/eventSpans';
import type { IncidentWithEvents as Incident, IncidentDatabase } from '@/api/types';
import { format } from '@/lib/format';
import { clockMs, formatDateTime, formatPreciseDuration, type Zone } from '@/lib/time';
import { Bytes } from '@/ui/Bytes';
import { Card } from '@/ui/Card';
import { Dash } from '@/ui/Dash';
import { Facts } from '@/ui/Facts';
import { type Column, DataTable } from '@/ui/table/DataTable';
import { useZone } from '@/ui/useZone';
import { eventDetails, replicationLagText } from '../eventDetails';
import classes from '../Timeline.module.css';
import { databaseName, noResyncText, percentText, unservedText } from './incidentText';

export function IncidentTables({ incident, now }: { incident: Incident; now: number }) {
  const zone = useZone();
  const bdbs = useQuery(shownBdbsQuery).data ?? [];
  const name = (uid: number | undefined) =>
    bdbs.find((bdb) => bdb.uid === uid)?.name ?? `database ${uid}`;
  const { detected_ms: from, returned_ms, cause, revived, databases, events } = incident;
  const failoverUids = new Set(incident.failovers);
  const resyncUids = new Set(incident.resyncs.map(({ event_uid }) => event_uid));
  const failovers = events
    .filter(({ uid }) => failoverUids.has(uid))
    .flatMap((e) => failoverOf(e) ?? []);
  const resyncs = events.filter(({ uid }) => resyncUids.has(uid)).flatMap((e) => resyncOf(e) ?? []);
  const outageEvent = events.find(({ uid }) => uid === incident.event_uid);
  return (
    <div className={classes.tables}>
      <Card title="Outage">
        <Facts
          items={[
            ['Down since', formatDateTime(from, zone)],
            [
              'Recovered',
              returned_ms === undefined ? 'not yet' : formatDateTime(returned_ms, zone),
            ],
            ['Cause', capitalize(cause?.description ?? 'unknown')],
            ...(outageEvent ? eventDetails(outageEvent, incident, now) : []),
          ]}
        />
      </Card>
      <div className={classes.column}>
        <Card title="Client impact" flush>
          <DataTable
            label="Databases"
            columns={databaseColumns(now, zone)}
            rows={databases}
            rowKey={({ uid }) => uid}
            empty={<p className={classes.none}>No database lost a primary.</p>}
          />
        </Card>
        <Card title="Failovers" flush>
          <DataTable
            label="Failovers"
            columns={failoverColumns(from, name)}
            rows={failovers}
            rowKey={(failover) => failover.event.uid}
            empty={<p className={classes.none}>No shard failed over.</p>}
          />
        </Card>
        <Card title="Resyncs" flush>
          <DataTable
            label="Resyncs"
            columns={resyncColumns(now, name)}
            rows={resyncs}
            rowKey={(resync) => resync.event.uid}
            empty={<p className={classes.none}>{noResyncText(revived)}</p>}
          />
        </Card>
      </div>
    </div>
  );
}

const capitalize = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

const num = (text: string) => <span className="num">{text}</span>;

/** Text for the time of the first successful request after the outage, or why there is none. */
function servedAgain(database: IncidentDatabase, zone: Zone): string {
  const { served_again_ms, unserved_since_ms, unserved_ms } = database;
  if (served_again_ms !== undefined) return clockMs(served_again_ms, zone);
  if (unserved_since_ms !== undefined) return 'not yet';
  return unserved_ms === null ? 'unknown' : 'no interruption';
}

function databaseColumns(now: number, zone: Zone): Column<IncidentDatabase>[] {
  const count = (id: 'failed' | 'delayed' | 'lost', header: string): Column<IncidentDatabase> => ({
    id,
    header,
    align: 'right',
    sort: (database) => database[id],
    cell: (database) => num(format('count', database[id])),
  });
  return [
    { id: 'bdb', header: 'Database', cell: databaseName },
    {
      id: 'unserved',
      header: 'Not served',
      sort: ({ unserved_ms }) => unserved_ms ?? -1,
      cell: (database) => num(unservedText(database, now)),
    },
    {
      id: 'again',
      header: 'First successful request',
      isTime: true,
      sort: ({ served_again_ms }) => served_again_ms ?? Number.POSITIVE_INFINITY,
      cell: (database) => num(servedAgain(database, zone)),
    },
    {
      id: 'promoted',
      header: 'Promoted after detection',
      align: 'right',
      sort: ({ promoted_after_ms }) => promoted_after_ms ?? -1,
      cell: ({ promoted_after_ms: after }) =>
        after === null ? (
          <Dash reason="No replica was promoted" />
        ) : (
          num(formatPreciseDuration(after / 1000))
        ),
    },
    count('failed', 'Failed'),
    count('delayed', 'Delayed'),
    count('lost', 'Lost'),
    {
      id: 'slots',
      header: 'Slots',
      optional: true,
      cell: ({ slots }) => (slots ? num(slots) : <Dash reason="The database lost no primary" />),
    },
  ];
}

function failoverColumns(from: number, name: (uid?: number) => string): Column<Failover>[] {
  return [
    { id: 'bdb', header: 'Database', cell: ({ event }) => name(event.bdb_uid) },
    {
      id: 'shards',
      header: 'Failover',
      cell: ({ lost, promoted }) => num(`redis:${lost} → redis:${promoted}`),
    },
    {
      id: 'after',
      header: 'Promoted after detection',
      align: 'right',
      sort: ({ at }) => at,
      cell: ({ at }) => num(formatPreciseDuration((at - from) / 1000)),
    },
    {
      id: 'took',
      header: 'Duration',
      align: 'right',
      sort: ({ seconds }) => seconds ?? 0,
      cell: ({ seconds }) =>
        seconds === null ? <Dash reason="Unknown" /> : num(formatPreciseDuration(seconds)),
    },
    {
      id: 'behind',
      header: 'Replication lag',
      align: 'right',
      sort: ({ bytesBehind }) => bytesBehind ?? -1,
      cell: ({ bytesBehind }) => num(replicationLagText(bytesBehind)),
    },
    {
      id: 'method',
      header: 'Method',
      optional: true,
      cell: ({ method }) => method || <Dash reason="Unknown" />,
    },
  ];
}

function resyncColumns(now: number, name: (uid?: number) => string): Column<Resync>[] {
  const seconds = ({ from, to }: Pick<Resync, 'from' | 'to'>) => ((to ?? now) - from) / 1000;
  return [
    { id: 'bdb', header: 'Database', cell: ({ event }) => name(event.bdb_uid) },
    { id: 'shard', header: 'Replica', cell: ({ shard }) => num(`redis:${shard}`) },
    { id: 'from', header: 'From', cell: ({ primary }) => num(`redis:${primary}`) },
    {
      id: 'state',
      header: 'State',
      cell: ({ open, incomplete, phase, percent }) =>
        open
          ? num(`${phaseLabel(phase)}, ${percentText(percent)}`)
          : incomplete
            ? 'Not in sync'
            : 'In sync',
    },
    {
      id: 'took',
      header: 'Duration',
      align: 'right',
      sort: seconds,
      cell: (resync) => num(formatPreciseDuration(seconds(resync))),
    },
    {
      id: 'bytes',
      header: 'Received',
      align: 'right',
      sort: ({ bytes }) => bytes ?? 0,
      cell: ({ bytes }) => <Bytes value={bytes} />,
    },
    {
      id: 'phases',
      header: 'Phases',
      optional: true,
      cell: ({ phases }) =>
        num(
          phases
            .map((phase) => `${phaseLabel(phase.name)} ${formatPreciseDuration(seconds(phase))}`)
            .join(', '),
        ),
    },
  ];
}
