/** Table of audit records. The console filters them; older records are loaded on demand. */
import { Alert, NativeSelect } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useInfiniteQuery } from '@tanstack/react-query';
import { type AuditFilter, auditQuery } from '@/api/access/audit';
import { messageOf } from '@/api/http';
import type { AuditLine } from '@/api/types';
import { Stamp } from '@/ui/Ago';
import { Card } from '@/ui/Card';
import { Dash } from '@/ui/Dash';
import { Status } from '@/ui/Status';
import { type Column, DataTable } from '@/ui/table/DataTable';
import { LoadOlder } from '@/ui/table/LoadOlder';
import { TextFilter } from '@/ui/table/TextFilter';
import classes from './audit.module.css';
import { authenticationText, OUTCOMES, requestText } from './auditText';

const COLUMNS: Column<AuditLine>[] = [
  {
    id: 'time',
    header: 'Time',
    isTime: true,
    width: 180,
    cell: ({ time }) => <Stamp time={time} />,
  },
  {
    id: 'who',
    header: 'User',
    width: 220,
    cell: ({ username, proof }) => (
      <div className={classes.lines}>
        {username ? <span>{username}</span> : <Dash reason="No username was sent" />}
        <span className="dim">{authenticationText(proof, username)}</span>
      </div>
    ),
  },
  {
    id: 'source',
    header: 'Source address',
    width: 140,
    optional: true,
    cell: ({ source }) => source,
  },
  {
    id: 'outcome',
    header: 'Outcome',
    width: 110,
    cell: ({ outcome }) => <Status tone={OUTCOMES[outcome].tone}>{OUTCOMES[outcome].label}</Status>,
  },
  {
    id: 'what',
    header: 'Action',
    cell: (line) => (
      <div className={classes.lines}>
        <span>{line.detail || requestText(line)}</span>
        {line.detail && <code className={classes.request}>{requestText(line)}</code>}
      </div>
    ),
  },
];

const DEBOUNCE_MS = 250;

interface Props {
  filter: AuditFilter;
  onFilter: (change: AuditFilter) => void;
}

export function AuditLog({ filter, onFilter }: Props) {
  const [debouncedText] = useDebouncedValue(filter.text, DEBOUNCE_MS);
  const audit = useInfiniteQuery({
    ...auditQuery({ outcome: filter.outcome, text: debouncedText }),
    placeholderData: keepPreviousData,
  });
  const lines = audit.data?.pages.flat();
  return (
    <>
      <div className={classes.filters}>
        <TextFilter
          text={filter.text}
          onText={(text) => onFilter({ text })}
          placeholder="User, address, text"
        />
        <NativeSelect
          size="xs"
          aria-label="Outcome"
          value={filter.outcome ?? ''}
          onChange={({ currentTarget: { value } }) =>
            onFilter({ outcome: (value || undefined) as AuditFilter['outcome'] })
          }
          data={[
            { value: '', label: 'All outcomes' },
            ...Object.entries(OUTCOMES).map(([value, { label }]) => ({ value, label })),
          ]}
        />
      </div>
      {!lines && audit.error ? (
        <Alert color="red">{messageOf(audit.error)}</Alert>
      ) : (
        <Card flush>
          <DataTable
            label="Audit log"
            columns={COLUMNS}
            rows={lines}
            rowKey={({ uid }) => uid}
            empty={<p className={classes.none}>No records match these filters.</p>}
          />
        </Card>
      )}
      <LoadOlder count={lines?.length ?? 0} noun="record" query={audit} />
    </>
  );
}
