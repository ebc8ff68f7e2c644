/** Table of databases with live values. */
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, useMemo } from 'react';
import { shownBdbsQuery } from '@/api/databases/bdbs';
import type { Bdb } from '@/api/types';
import { useLive, useTopic } from '@/live/LiveProvider';
import { type Column, DataTable } from '@/ui/table/DataTable';
import { columnsOf } from './databaseColumns';

const COMPACT = new Set(['status', 'name', 'memory', 'shards', 'ops', 'p99', 'ram-hit', 'spark']);

/** Return the columns of the table. The RAM hit ratio is omitted if no database is on flash. */
export function useDatabaseColumns(): Column<Bdb>[] {
  const live = useLive();
  const onFlash = useQuery(shownBdbsQuery).data?.some(({ bigstore }) => bigstore) ?? false;
  useTopic('flash');
  return useMemo(
    () => columnsOf(live).filter(({ id }) => onFlash || id !== 'ram-hit'),
    [live, onFlash],
  );
}

interface Props {
  rows: readonly Bdb[] | undefined;
  columns: readonly Column<Bdb>[];
  empty?: ReactNode;
}

export function DatabaseTable({ rows, columns, empty }: Props) {
  const navigate = useNavigate();
  return (
    <DataTable
      label="Databases"
      columns={columns}
      rows={rows}
      rowKey={(bdb) => bdb.uid}
      initialSort={{ id: 'name' }}
      onOpen={(bdb) =>
        navigate({ to: '/databases/$uid/metrics', params: { uid: String(bdb.uid) } })
      }
      empty={empty}
    />
  );
}

/** Table with fewer columns, for pages with other content. */
export function CompactDatabaseTable() {
  const columns = useDatabaseColumns();
  const compactColumns = useMemo(() => columns.filter(({ id }) => COMPACT.has(id)), [columns]);
  return <DatabaseTable rows={useQuery(shownBdbsQuery).data} columns={compactColumns} />;
}
