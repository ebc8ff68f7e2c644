/** Filters of the event log. */
import { NativeSelect } from '@mantine/core';
import type { EventFilter } from '@/api/alerting/events';
import { TextFilter } from '@/ui/table/TextFilter';
import classes from './events.module.css';
import { SEVERITIES, SOURCE_LABELS, SOURCES } from './filter';

interface Props {
  filter: EventFilter;
  onFilter: (change: EventFilter) => void;
  withSource: boolean;
}

export function EventFilters({ filter, onFilter, withSource }: Props) {
  return (
    <div className={classes.filters}>
      <TextFilter text={filter.text} onText={(text) => onFilter({ text })} />
      <NativeSelect
        size="xs"
        aria-label="Severity"
        value={filter.severity ?? ''}
        onChange={(event) => onFilter({ severity: event.currentTarget.value || undefined })}
        data={[
          { value: '', label: 'All severities' },
          ...SEVERITIES.map((value) => ({ value, label: capitalize(value) })),
        ]}
      />
      {withSource && (
        <NativeSelect
          size="xs"
          aria-label="Source"
          value={filter.source ?? ''}
          onChange={(event) => onFilter({ source: event.currentTarget.value || undefined })}
          data={[
            { value: '', label: 'All sources' },
            ...SOURCES.map((value) => ({ value, label: SOURCE_LABELS[value] ?? value })),
          ]}
        />
      )}
    </div>
  );
}

const capitalize = (word: string): string => word.charAt(0) + word.slice(1).toLowerCase();
