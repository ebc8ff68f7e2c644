/** Tables of the active alarms and of the alarms that ended in the selected time range. */
import { NativeSelect } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { sessionQuery, usePermission } from '@/api/access/session';
import { healthQuery } from '@/api/alerting/health';
import { shownBdbsQuery } from '@/api/databases/bdbs';
import { endOf, startOf } from '@/api/failures/eventSpans';
import { messageOf } from '@/api/http';
import type { LogEvent } from '@/api/types';
import { formatPreciseDuration } from '@/lib/time';
import { useCoarseWindow } from '@/live/useCoarseWindow';
import { useEventHistory } from '@/live/useEventHistory';
import { Elapsed, Stamp } from '@/ui/Ago';
import { Card } from '@/ui/Card';
import { EmptyState } from '@/ui/EmptyState';
import { Status } from '@/ui/Status';
import { CardTable } from '@/ui/table/CardTable';
import type { Column } from '@/ui/table/DataTable';
import { AcknowledgeDialog } from './AcknowledgeDialog';
import { AcknowledgementText } from './AcknowledgementText';
import { AlarmActions } from './AlarmActions';
import classes from './alarms.module.css';
import { activeAlarm } from './alarmText';
import { useAlarms } from './useAlarms';

type Names = ReadonlyMap<number, string>;

export function AlarmTables() {
  const bdbs = useQuery(shownBdbsQuery).data;
  const names = useMemo(() => new Map(bdbs?.map(({ uid, name }) => [uid, name])), [bdbs]);
  const mayReadLog = usePermission('readLog');
  return (
    <>
      <ActiveAlarms names={names} />
      {mayReadLog && <Ended names={names} />}
    </>
  );
}

type Filter = 'all' | 'open' | 'acknowledged' | 'own';

function ActiveAlarms({ names }: { names: Names }) {
  const alarms = useAlarms();
  const { error } = useQuery(healthQuery);
  const user = useQuery(sessionQuery).data?.username;
  const [filter, setFilter] = useState<Filter>('all');
  const [editing, setEditing] = useState<LogEvent | null>(null);
  if (error && !alarms)
    return <EmptyState title="Alarms could not be loaded">{messageOf(error)}</EmptyState>;
  const { open = [], acknowledged = [] } = alarms ?? {};
  const all = [...open.toSorted(worstFirst), ...acknowledged.toSorted(worstFirst)];
  const own = all.filter(({ acknowledgement: each }) => each && each.assigned_to === user);
  const shown = { all, open, acknowledged, own };
  const hasFilter = all.some(({ acknowledgement }) => acknowledgement);
  const columns = activeColumns(names, acknowledged, setEditing);
  return (
    <Card
      title="Active alarms"
      flush
      headerEnd={
        hasFilter && (
          <NativeSelect
            aria-label="Show"
            size="xs"
            value={filter}
            onChange={(event) => setFilter(event.currentTarget.value as Filter)}
            data={FILTERS.map(({ value, label }) => ({
              value,
              label: `${label} (${shown[value].length})`,
            }))}
          />
        )
      }
    >
      <CardTable
        head={['severity', 'alarm']}
        label="Active alarms"
        columns={columns}
        rows={alarms && (hasFilter ? shown[filter] : all)}
        rowKey={({ uid }) => uid}
        empty={all.length > 0 ? <EmptyState title="No such alarms" /> : <NoAlarms />}
      />
      {editing && (
        <AcknowledgeDialog
          alarm={editing}
          text={activeAlarm(editing, names).text}
          onClose={() => setEditing(null)}
        />
      )}
    </Card>
  );
}

function activeColumns(
  names: Names,
  acknowledged: readonly LogEvent[],
  onEdit: (alarm: LogEvent) => void,
): Column<LogEvent>[] {
  const isValid = (alarm: LogEvent) => acknowledged.includes(alarm);
  return [
    ...common(names),
    {
      id: 'for',
      header: 'Active for',
      align: 'right',
      sort: (alarm) => -startOf(alarm),
      cell: (alarm) => <Elapsed since={startOf(alarm)} />,
    },
    {
      id: 'acknowledged',
      header: 'Acknowledged',
      cell: (alarm) => <AcknowledgementText alarm={alarm} isValid={isValid(alarm)} />,
    },
    {
      id: 'actions',
      header: 'Actions',
      cell: (alarm) => (
        <AlarmActions alarm={alarm} isAcknowledged={isValid(alarm)} onEdit={() => onEdit(alarm)} />
      ),
    },
  ];
}

const FILTERS: readonly { value: Filter; label: string }[] = [
  { value: 'all', label: 'All' },
  { value: 'open', label: 'Open' },
  { value: 'acknowledged', label: 'Acknowledged' },
  { value: 'own', label: 'Assigned to you' },
];

function NoAlarms() {
  return (
    <EmptyState title="No active alarms">
      <span>
        Every second, the console checks nodes, shards, replication, memory, and flash, and your
        alert thresholds for throughput, latency, and usage.
      </span>
    </EmptyState>
  );
}

function Ended({ names }: { names: Names }) {
  const { from, to } = useCoarseWindow();
  const events = useEventHistory(from, to);
  const rows = events
    ?.filter((event) => {
      const ended = endOf(event);
      return event.type.startsWith('alarm_') && ended !== null && ended <= to * 1000;
    })
    .reverse();
  const columns: Column<LogEvent>[] = [
    ...common(names),
    {
      id: 'ended',
      header: 'Ended',
      sort: (alarm) => endOf(alarm) ?? 0,
      cell: (alarm) => <Stamp time={new Date(endOf(alarm) ?? 0).toISOString()} />,
    },
    {
      id: 'lasted',
      header: 'Duration',
      align: 'right',
      sort: seconds,
      cell: (alarm) => <span className="num">{formatPreciseDuration(seconds(alarm))}</span>,
    },
  ];
  return (
    <Card title="Ended in this time range" flush>
      <CardTable
        head={['severity', 'alarm']}
        label="Ended in this time range"
        columns={columns}
        rows={rows}
        rowKey={({ uid }) => uid}
        empty={
          <EmptyState title="No alarms ended">
            <span>Choose a longer time range at the top of the page to view earlier alarms.</span>
          </EmptyState>
        }
      />
    </Card>
  );
}

const seconds = (alarm: LogEvent): number => ((endOf(alarm) ?? 0) - startOf(alarm)) / 1000;

const isError = ({ severity }: LogEvent): boolean =>
  severity === 'ERROR' || severity === 'CRITICAL';

const worstFirst = (a: LogEvent, b: LogEvent): number =>
  Number(isError(b)) - Number(isError(a)) || startOf(b) - startOf(a);

function common(names: Names): Column<LogEvent>[] {
  return [
    {
      id: 'severity',
      header: 'Severity',
      width: 110,
      sort: (alarm) => Number(isError(alarm)),
      cell: (alarm) =>
        isError(alarm) ? (
          <Status tone="broken">Error</Status>
        ) : (
          <Status tone="attention">Warning</Status>
        ),
    },
    {
      id: 'alarm',
      header: 'Alarm',
      cell: (alarm) => <span className={classes.text}>{activeAlarm(alarm, names).text}</span>,
    },
    {
      id: 'of',
      header: 'Affects',
      cell: (alarm) => <AffectedObject alarm={alarm} names={names} />,
    },
    {
      id: 'raised',
      header: 'Raised',
      sort: startOf,
      cell: (alarm) => <Stamp time={alarm.time} />,
    },
  ];
}

function AffectedObject({ alarm, names }: { alarm: LogEvent; names: Names }) {
  const { bdb_uid: bdb, node_uid: node } = alarm;
  const name = bdb === undefined ? undefined : names.get(bdb);
  if (name !== undefined)
    return (
      <Link to="/databases/$uid/metrics" params={{ uid: String(bdb) }}>
        {name}
      </Link>
    );
  if (bdb !== undefined) return <span className="dim">database {bdb} (deleted)</span>;
  if (node === undefined) return <span className="dim">cluster</span>;
  return (
    <Link to="/nodes/$uid" params={{ uid: String(node) }}>
      node {node}
    </Link>
  );
}
