/** What narrows the log. */
import { NativeSelect, TextInput } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { useState } from 'react';
import type { EventFilter } from '@/api/events';
import classes from './events.module.css';
import { SEVERITIES, SOURCE_WORDS, SOURCES } from './filter';

interface Props {
  filter: EventFilter;
  onFilter: (change: EventFilter) => void;
  withSource: boolean;
}

export function EventFilters({ filter, onFilter, withSource }: Props) {
  // The address follows the field; the field does not wait for the address.
  const [text, setText] = useState(filter.text ?? '');
  const type = (next: string) => {
    setText(next);
    onFilter({ text: next || undefined });
  };
  return (
    <div className={classes.filters}>
      <TextInput
        size="xs"
        type="search"
        aria-label="Filter by text"
        placeholder="Filter by text"
        leftSection={<IconSearch size={14} />}
        value={text}
        maxLength={200}
        onChange={(event) => type(event.currentTarget.value)}
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

const capital = (word: string): string => word.charAt(0) + word.slice(1).toLowerCase();
