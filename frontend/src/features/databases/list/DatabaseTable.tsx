/** Table of databases with live values. On narrow screens, it is a list of cards. */
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, useMemo } from 'react';
import { shownBdbsQuery } from '@/api/databases/bdbs';
import type { Bdb } from '@/api/types';
import { useLive, useTopic } from '@/live/LiveProvider';
import { CardTable } from '@/ui/table/CardTable';
import type { Column } from '@/ui/table/DataTable';
import { columnsOf } from './databaseColumns';
import { type FittingColumns, useFittingColumns } from './useFittingColumns';
import type { DatabaseColumn } from './visibleColumns';

const COMPACT = new Set(['status', 'name', 'memory', 'shards', 'ops', 'p99', 'ram-hit', 'spark']);

export function useDatabaseColumns(): DatabaseColumn[] {
  const live = useLive();
  useTopic('flash');
  return useMemo(() => columnsOf(live), [live]);
}

interface Props {
  rows: readonly Bdb[] | undefined;
  fitting: FittingColumns;
  /** Column before all others. */
  selection?: Column<Bdb> | undefined;
  empty?: ReactNode;
}

export function DatabaseTable({ rows, fitting, selection, empty }: Props) {
  const navigate = useNavigate();
  const columns = selection ? [selection, ...fitting.columns] : fitting.columns;
  return (
    <div ref={fitting.container}>
      <CardTable
        label="Databases"
        head={[...(selection ? [selection.id] : []), 'name', 'status']}
        columns={columns}
        rows={rows}
        rowKey={(bdb) => bdb.uid}
        initialSort={{ id: 'name' }}
        onOpen={(bdb) =>
          navigate({ to: '/databases/$uid/metrics', params: { uid: String(bdb.uid) } })
        }
        empty={empty}
      />
    </div>
  );
}

/** Table with fewer columns, for pages with other content. */
export function CompactDatabaseTable() {
  const all = useDatabaseColumns();
  const compactColumns = useMemo(() => all.filter(({ id }) => COMPACT.has(id)), [all]);
  const fitting = useFittingColumns(compactColumns);
  return <DatabaseTable rows={useQuery(shownBdbsQuery).data} fitting={fitting} />;
}
