/** The log as a table: filtered by the console, live, older ones on demand. */
import { Button, SegmentedControl } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { type EventFilter, eventLogQuery, eventsQuery, mergeEvents } from '@/api/events';
import { messageOf } from '@/api/http';
import type { LogEvent } from '@/api/types';
import { plural } from '@/lib/format';
import { Ago, Stamp } from '@/ui/Ago';
import { type Column, DataTable } from '@/ui/DataTable';
import { EmptyState } from '@/ui/EmptyState';
import { EventFilters } from './EventFilters';
import { EventLinks } from './EventLinks';
import classes from './events.module.css';
import { describe, filterEvents, SOURCE_WORDS } from './filter';
import { SeverityMark } from './SeverityMark';

const COLUMNS: readonly Column<LogEvent>[] = [
  { id: 'time', header: 'Time', width: 180, cell: (event) => <Stamp time={event.time} /> },
  {
    id: 'ago',
    header: 'Age',
    width: 90,
    optional: true,
    cell: (event) => <Ago time={event.time} />,
  },
  {
    id: 'severity',
    header: 'Severity',
    width: 100,
    cell: (event) => <SeverityMark severity={event.severity} />,
  },
  {
    id: 'source',
    header: 'Source',
    width: 90,
    optional: true,
    cell: (event) => SOURCE_WORDS[event.source] ?? event.source,
  },
  {
    id: 'what',
    header: 'What happened',
    cell: (event) => <span className={classes.what}>{describe(event)}</span>,
  },
  { id: 'links', header: 'Concerns', width: 170, cell: (event) => <EventLinks event={event} /> },
  { id: 'who', header: 'Who', optional: true, cell: (event) => event.originator || '–' },
];

const TYPING_MS = 250;

export interface Span {
  chosen: 'range' | 'all';
  word: string;
  stime: string | undefined;
  etime: string | undefined;
}

interface Props {
  filter: EventFilter;
  onFilter: (change: EventFilter & { span?: Span['chosen'] }) => void;
  /** The part of the log that is shown, and what the other choice is called. */
  span: Span;
  /** Shows only what concerns one database. */
  bdbUid?: number;
}

export function EventLog({ filter, onFilter, span, bdbUid }: Props) {
  const { severity, source, text } = filter;
  const { stime, etime } = span;
  const [settled] = useDebouncedValue(text, TYPING_MS);
  const asked = useMemo(
    () => ({ severity, source, text: settled, bdb_uid: bdbUid, stime, etime }),
    [severity, source, settled, bdbUid, stime, etime],
  );
  const latest = useQuery(eventsQuery).data;
  const log = useInfiniteQuery({ ...eventLogQuery(asked), placeholderData: keepPreviousData });
  const rows = useMemo(
    () => log.data && mergeEvents(...log.data.pages, filterEvents(latest ?? [], asked)),
    [log.data, latest, asked],
  );
  return (
    <div className={classes.log}>
      <div className={classes.bar}>
        <EventFilters filter={filter} onFilter={onFilter} withSource={bdbUid === undefined} />
        <SegmentedControl
          aria-label="Time"
          value={span.chosen}
          onChange={(chosen) => onFilter({ span: chosen as Span['chosen'] })}
          data={[
            { value: 'all', label: 'All events' },
            { value: 'range', label: span.word },
          ]}
        />
      </div>
      <div className={classes.table}>
        <DataTable
          label="Events"
          columns={COLUMNS}
          rows={log.error ? [] : rows}
          rowKey={(event) => event.uid}
          empty={
            <EmptyState title={log.error ? 'The log could not be read' : 'No match'}>
              <span>
                {log.error ? messageOf(log.error) : 'Try a longer range or fewer filters.'}
              </span>
            </EmptyState>
          }
        />
      </div>
      {rows && rows.length > 0 && (
        <div className={classes.more}>
          <span className="dim num">
            {log.hasNextPage
              ? `The newest ${plural(rows.length, 'event')} shown`
              : `All ${plural(rows.length, 'event')} shown`}
          </span>
          {log.hasNextPage && (
            <Button
              variant="default"
              loading={log.isFetchingNextPage}
              onClick={() => log.fetchNextPage()}
            >
              Load older events
            </Button>
          )}
        </div>
      )}
    </div>
  );
}
