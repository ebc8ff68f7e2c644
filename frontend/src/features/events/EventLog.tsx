/**
 * Table of the event log. The console filters it, new events appear immediately, and older pages
 * load on request.
 */
import { Button, SegmentedControl } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { IconChevronDown, IconChevronRight } from '@tabler/icons-react';
import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useMemo, useState } from 'react';
import { type EventFilter, eventLogQuery, eventsQuery, mergeEvents } from '@/api/alerting/events';
import { useIncidents } from '@/api/failures/incidents';
import { messageOf } from '@/api/http';
import { plural } from '@/lib/format';
import { Ago, Stamp } from '@/ui/Ago';
import { Dash } from '@/ui/Dash';
import { EmptyState } from '@/ui/EmptyState';
import { type Column, DataTable } from '@/ui/table/DataTable';
import { LoadOlder } from '@/ui/table/LoadOlder';
import { EventFilters } from './EventFilters';
import { EventLinks } from './EventLinks';
import classes from './events.module.css';
import { eventText, filterEvents, SOURCE_LABELS } from './filter';
import { type EventRow, eventRowKey, groupByIncident } from './incidentGroups';
import { SeverityMark } from './SeverityMark';

const columns = (
  toggle: (incident: number) => void,
  open: ReadonlySet<number>,
): Column<EventRow>[] => [
  {
    id: 'time',
    header: 'Time',
    isTime: true,
    width: 180,
    cell: ({ event }) => <Stamp time={event.time} />,
  },
  {
    id: 'ago',
    header: 'Age',
    width: 90,
    optional: true,
    cell: ({ event }) => <Ago time={event.time} />,
  },
  {
    id: 'severity',
    header: 'Severity',
    width: 100,
    cell: ({ event }) => <SeverityMark severity={event.severity} />,
  },
  {
    id: 'source',
    header: 'Source',
    width: 90,
    optional: true,
    cell: ({ event }) => SOURCE_LABELS[event.source] ?? event.source,
  },
  {
    id: 'what',
    header: 'Description',
    cell: (row) =>
      row.group ? (
        <GroupHead row={row} group={row.group} toggle={toggle} open={open} />
      ) : (
        <span className={classes.what} data-within={row.isGroupMember || undefined}>
          {eventText(row.event)}
        </span>
      ),
  },
  {
    id: 'links',
    header: 'Objects',
    width: 170,
    cell: ({ event }) => <EventLinks event={event} />,
  },
  {
    id: 'who',
    header: 'Originator',
    optional: true,
    cell: ({ event }) => event.originator || <Dash reason="Not triggered by a user" />,
  },
];

interface GroupHeadProps {
  row: EventRow;
  group: NonNullable<EventRow['group']>;
  toggle: (incident: number) => void;
  open: ReadonlySet<number>;
}

function GroupHead({ row, group: { incident, count, since }, toggle, open }: GroupHeadProps) {
  const isOpen = open.has(incident.uid);
  const Chevron = isOpen ? IconChevronDown : IconChevronRight;
  return (
    <span className={classes.what}>
      {eventText(row.event)}{' '}
      <span className={classes.group}>
        <button type="button" aria-expanded={isOpen} onClick={() => toggle(incident.uid)}>
          <Chevron size={13} aria-hidden />
          {plural(count, 'event')} since <Stamp time={since} />
        </button>
        <Link to="/activity/incidents/$uid" params={{ uid: String(incident.uid) }}>
          Incident
        </Link>
      </span>
    </span>
  );
}

const TYPING_MS = 250;

export interface LogRange {
  chosen: 'range' | 'all';
  label: string;
  stime: string | undefined;
  etime: string | undefined;
}

interface Props {
  filter: EventFilter;
  onFilter: (change: EventFilter & { span?: LogRange['chosen'] }) => void;
  /** Displayed part of the log, and the label of the range option. */
  span: LogRange;
  /** Show only events of this database. */
  bdbUid?: number;
}

export function EventLog({ filter, onFilter, span, bdbUid }: Props) {
  const { severity, source, text } = filter;
  const { stime, etime } = span;
  const [debouncedText] = useDebouncedValue(text, TYPING_MS);
  const query = useMemo(
    () => ({ severity, source, text: debouncedText, bdb_uid: bdbUid, stime, etime }),
    [severity, source, debouncedText, bdbUid, stime, etime],
  );
  const latest = useQuery(eventsQuery).data;
  const log = useInfiniteQuery({ ...eventLogQuery(query), placeholderData: keepPreviousData });
  const events = useMemo(
    () => log.data && mergeEvents(...log.data.pages, filterEvents(latest ?? [], query)),
    [log.data, latest, query],
  );
  const incidents = useIncidents();
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  const rows = useMemo(
    () => events && groupByIncident(events, incidents ?? [], open),
    [events, incidents, open],
  );
  const shownColumns = useMemo(
    () => columns((uid) => setOpen((now) => toggled(now, uid)), open),
    [open],
  );
  return (
    <div className={classes.log}>
      <div className={classes.bar}>
        <EventFilters filter={filter} onFilter={onFilter} withSource={bdbUid === undefined} />
        <SegmentedControl
          aria-label="Time"
          value={span.chosen}
          onChange={(chosen) => onFilter({ span: chosen as LogRange['chosen'] })}
          data={[
            { value: 'range', label: span.label },
            { value: 'all', label: 'All events' },
          ]}
        />
      </div>
      <div className={classes.table}>
        <DataTable
          label="Events"
          columns={shownColumns}
          rows={log.error ? [] : rows}
          rowKey={eventRowKey}
          empty={
            <EmptyState
              title={log.error ? 'The event log could not be loaded' : 'No matching events'}
            >
              <span>
                {log.error ? messageOf(log.error) : 'Try a longer time range or fewer filters.'}
              </span>
              {!log.error && span.chosen === 'range' && (
                <Button variant="default" onClick={() => onFilter({ span: 'all' })}>
                  Show all events
                </Button>
              )}
            </EmptyState>
          }
        />
      </div>
      <LoadOlder count={events?.length ?? 0} noun="event" query={log} />
    </div>
  );
}

function toggled(now: ReadonlySet<number>, uid: number): ReadonlySet<number> {
  const next = new Set(now);
  if (!next.delete(uid)) next.add(uid);
  return next;
}
