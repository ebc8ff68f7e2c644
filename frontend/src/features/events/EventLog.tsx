/** The log as a table: filters, live, older ones on demand. */
import { Button, NativeSelect, TextInput } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { EVENT_PAGE, eventsQuery, loadOlderEvents } from '@/api/events';
import { messageOf } from '@/api/http';
import type { LogEvent } from '@/api/types';
import { plural } from '@/lib/format';
import { Ago, Stamp } from '@/ui/Ago';
import { type Column, DataTable } from '@/ui/DataTable';
import { EmptyState } from '@/ui/EmptyState';
import { EventLinks } from './EventLinks';
import classes from './events.module.css';
import {
  describe,
  type EventFilter,
  filterEvents,
  SEVERITIES,
  SOURCE_WORDS,
  SOURCES,
} from './filter';
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
    cell: (event) => SOURCE_WORDS[event.source ?? ''] ?? event.source ?? '–',
  },
  {
    id: 'what',
    header: 'What happened',
    cell: (event) => <span className={classes.what}>{describe(event)}</span>,
  },
  { id: 'links', header: 'Concerns', width: 170, cell: (event) => <EventLinks event={event} /> },
  { id: 'who', header: 'Who', optional: true, cell: (event) => event.originator ?? '–' },
];

const PAGE = 100;

interface Props {
  filter: EventFilter;
  onFilter: (change: EventFilter) => void;
  /** Shows only what concerns one database. */
  bdbUid?: number;
}

export function EventLog({ filter, onFilter, bdbUid }: Props) {
  const { data, error } = useQuery(eventsQuery);
  const [shown, setShown] = useState(PAGE);
  const { severity, source, text } = filter;
  const matching = useMemo(
    () =>
      data &&
      filterEvents(data, { severity, source, text }).filter(
        (event) => bdbUid === undefined || event.bdb_uid === bdbUid,
      ),
    [data, severity, source, text, bdbUid],
  );
  return (
    <div className={classes.log}>
      <Filters filter={filter} onFilter={onFilter} withSource={bdbUid === undefined} />
      <div className={classes.table}>
        <DataTable
          label="Events"
          columns={COLUMNS}
          rows={error ? [] : matching?.slice(0, shown)}
          rowKey={(event) => event.uid}
          empty={
            <EmptyState title={error ? 'The log could not be read' : 'No matching event'}>
              <span>
                {error
                  ? messageOf(error)
                  : `Looked through the newest ${plural(data?.length ?? 0, 'event')}.`}
              </span>
            </EmptyState>
          }
        />
      </div>
      {data && matching && (
        <More
          matching={matching.length}
          loaded={data.length}
          shown={Math.min(shown, matching.length)}
          onShow={() => setShown(shown + PAGE)}
        />
      )}
    </div>
  );
}

interface FiltersProps {
  filter: EventFilter;
  onFilter: (change: EventFilter) => void;
  withSource: boolean;
}

function Filters({ filter, onFilter, withSource }: FiltersProps) {
  return (
    <div className={classes.filters}>
      <TextInput
        size="xs"
        type="search"
        aria-label="Filter by text"
        placeholder="Filter by text"
        leftSection={<IconSearch size={14} />}
        value={filter.text ?? ''}
        onChange={(event) => onFilter({ text: event.currentTarget.value || undefined })}
      />
      <NativeSelect
        size="xs"
        aria-label="Severity"
        value={filter.severity ?? ''}
        onChange={(event) => onFilter({ severity: event.currentTarget.value || undefined })}
        data={[
          { value: '', label: 'Every severity' },
          ...SEVERITIES.map((value) => ({ value, label: capital(value) })),
        ]}
      />
      {withSource && (
        <NativeSelect
          size="xs"
          aria-label="Source"
          value={filter.source ?? ''}
          onChange={(event) => onFilter({ source: event.currentTarget.value || undefined })}
          data={[
            { value: '', label: 'Every source' },
            ...SOURCES.map((value) => ({ value, label: SOURCE_WORDS[value] ?? value })),
          ]}
        />
      )}
    </div>
  );
}

interface MoreProps {
  matching: number;
  loaded: number;
  shown: number;
  onShow: () => void;
}

function More({ matching, loaded, shown, onShow }: MoreProps) {
  const client = useQueryClient();
  const [busy, setBusy] = useState(false);
  const [end, setEnd] = useState(loaded < EVENT_PAGE);
  const older = async () => {
    setBusy(true);
    const more = await loadOlderEvents(client).catch(() => true);
    setEnd(!more);
    setBusy(false);
  };
  return (
    <div className={classes.more}>
      <span className="dim num">
        {shown} of {plural(matching, 'matching event')}, {loaded.toLocaleString('en-US')} loaded
        {end && ', that is all there are'}
      </span>
      {shown < matching && (
        <Button variant="default" onClick={onShow}>
          Show more
        </Button>
      )}
      {!end && (
        <Button variant="default" loading={busy} onClick={older}>
          Load older events
        </Button>
      )}
    </div>
  );
}

const capital = (word: string): string => word.charAt(0) + word.slice(1).toLowerCase();
