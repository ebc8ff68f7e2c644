/** Who did what from where, and what became of it; filtered by the console, older lines on demand. */
import { Alert, Button, NativeSelect, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { IconSearch } from '@tabler/icons-react';
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { type AuditFilter, auditQuery } from '@/api/audit';
import { messageOf } from '@/api/http';
import type { AuditLine } from '@/api/types';
import { plural } from '@/lib/format';
import { Stamp } from '@/ui/Ago';
import { Card } from '@/ui/Card';
import { Dash } from '@/ui/Dash';
import { type Column, DataTable } from '@/ui/DataTable';
import { Status } from '@/ui/Status';
import classes from './audit.module.css';
import { OUTCOMES, proofWords, requestWords } from './words';

const COLUMNS: Column<AuditLine>[] = [
  { id: 'time', header: 'Time', width: 180, cell: ({ time }) => <Stamp time={time} /> },
  {
    id: 'who',
    header: 'Who',
    width: 220,
    cell: ({ username, proof }) => (
      <div className={classes.lines}>
        {username ? <span>{username}</span> : <Dash why="Did not say" />}
        <span className="dim">{proofWords(proof, username)}</span>
      </div>
    ),
  },
  { id: 'source', header: 'From', width: 140, optional: true, cell: ({ source }) => source },
  {
    id: 'outcome',
    header: 'Outcome',
    width: 110,
    cell: ({ outcome }) => <Status tone={OUTCOMES[outcome].tone}>{OUTCOMES[outcome].word}</Status>,
  },
  {
    id: 'what',
    header: 'What',
    cell: (line) => (
      <div className={classes.lines}>
        <span>{line.detail || requestWords(line)}</span>
        {line.detail && <code className={classes.request}>{requestWords(line)}</code>}
      </div>
    ),
  },
];

const TYPING_MS = 250;

interface Props {
  filter: AuditFilter;
  onFilter: (change: AuditFilter) => void;
}

export function AuditTrail({ filter, onFilter }: Props) {
  // The address follows the field; the field does not wait for the address.
  const [text, setText] = useState(filter.text ?? '');
  const [settled] = useDebouncedValue(filter.text, TYPING_MS);
  const trail = useInfiniteQuery({
    ...auditQuery({ outcome: filter.outcome, text: settled }),
    placeholderData: keepPreviousData,
  });
  const lines = trail.data?.pages.flat();
  return (
    <>
      <div className={classes.filters}>
        <TextInput
          size="xs"
          type="search"
          aria-label="Filter by text"
          placeholder="User, address, object, words"
          leftSection={<IconSearch size={14} />}
          value={text}
          maxLength={200}
          onChange={({ currentTarget: { value } }) => {
            setText(value);
            onFilter({ text: value || undefined });
          }}
        />
        <NativeSelect
          size="xs"
          aria-label="Outcome"
          value={filter.outcome ?? ''}
          onChange={({ currentTarget: { value } }) =>
            onFilter({ outcome: (value || undefined) as AuditFilter['outcome'] })
          }
          data={[
            { value: '', label: 'Every outcome' },
            ...Object.entries(OUTCOMES).map(([value, { word }]) => ({ value, label: word })),
          ]}
        />
      </div>
      {!lines && trail.error ? (
        <Alert color="red">{messageOf(trail.error)}</Alert>
      ) : (
        <Card flush>
          <DataTable
            label="Audit trail"
            columns={COLUMNS}
            rows={lines}
            rowKey={({ uid }) => uid}
            empty={<p className={classes.none}>No line matches these filters.</p>}
          />
        </Card>
      )}
      {lines && lines.length > 0 && (
        <div className={classes.more}>
          <span className="dim num">
            {trail.hasNextPage
              ? `The newest ${plural(lines.length, 'line')} shown`
              : `All ${plural(lines.length, 'line')} shown`}
          </span>
          {trail.hasNextPage && (
            <Button
              variant="default"
              loading={trail.isFetchingNextPage}
              onClick={() => trail.fetchNextPage()}
            >
              Load older lines
            </Button>
          )}
        </div>
      )}
    </>
  );
}
