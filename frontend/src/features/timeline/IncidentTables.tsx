/** The figures of an incident: of the outage, of each failover, of each resync. */
import { useQuery } from '@tanstack/react-query';
import { bdbsQuery } from '@/api/bdbs';
import { type Failover, phaseWord, type Resync } from '@/api/story';
import { format } from '@/lib/format';
import { precise, stamp } from '@/lib/time';
import { Card } from '@/ui/Card';
import { type Column, DataTable } from '@/ui/DataTable';
import { Facts } from '@/ui/Facts';
import { useZone } from '@/ui/zone';
import { behind, factsOf } from './facts';
import type { Incident } from './incident';
import classes from './timeline.module.css';
import { noResync, percentText } from './words';

export function IncidentTables({ incident, now }: { incident: Incident; now: number }) {
  const zone = useZone();
  const bdbs = useQuery(bdbsQuery).data ?? [];
  const name = (uid: number | undefined) =>
    bdbs.find((bdb) => bdb.uid === uid)?.name ?? `database ${uid}`;
  const { event, from, to, drill, failovers, resyncs, revived } = incident;
  return (
    <div className={classes.tables}>
      <Card title="Outage">
        <Facts
          items={[
            ['Down since', stamp(from, zone)],
            ['Back', to === null ? 'not yet' : stamp(to, zone)],
            ['Cause', drill ? `Drill ordered by ${drill.originator}` : 'Not known to the console'],
            ...factsOf(event, incident, now),
          ]}
        />
      </Card>
      <div className={classes.column}>
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
            empty={<p className={classes.none}>{noResync(revived)}</p>}
          />
        </Card>
      </div>
    </div>
  );
}

const num = (text: string) => <span className="num">{text}</span>;

function failoverColumns(from: number, name: (uid?: number) => string): Column<Failover>[] {
  return [
    { id: 'bdb', header: 'Database', cell: ({ event }) => name(event.bdb_uid) },
    {
      id: 'shards',
      header: 'Failover',
      cell: ({ lost, heir }) => num(`redis:${lost} → redis:${heir}`),
    },
    {
      id: 'after',
      header: 'Promoted after detection',
      align: 'right',
      sort: ({ at }) => at,
      cell: ({ at }) => num(precise((at - from) / 1000)),
    },
    {
      id: 'took',
      header: 'Took',
      align: 'right',
      sort: ({ seconds }) => seconds ?? 0,
      cell: ({ seconds }) => num(seconds === null ? '–' : precise(seconds)),
    },
    {
      id: 'behind',
      header: 'Behind',
      align: 'right',
      sort: ({ bytesBehind }) => bytesBehind ?? -1,
      cell: ({ bytesBehind }) => num(behind(bytesBehind)),
    },
    { id: 'method', header: 'Method', optional: true, cell: ({ method }) => method || '–' },
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
      cell: ({ open, broken, phase, percent }) =>
        open
          ? num(`${phaseWord(phase)}, ${percentText(percent)}`)
          : broken
            ? 'Not in sync'
            : 'In sync',
    },
    {
      id: 'took',
      header: 'Took',
      align: 'right',
      sort: seconds,
      cell: (resync) => num(precise(seconds(resync))),
    },
    {
      id: 'bytes',
      header: 'Received',
      align: 'right',
      sort: ({ bytes }) => bytes ?? 0,
      cell: ({ bytes }) => num(format('bytes', bytes)),
    },
    {
      id: 'phases',
      header: 'Phases',
      optional: true,
      cell: ({ phases }) =>
        num(
          phases.map((phase) => `${phaseWord(phase.name)} ${precise(seconds(phase))}`).join(', '),
        ),
    },
  ];
}
