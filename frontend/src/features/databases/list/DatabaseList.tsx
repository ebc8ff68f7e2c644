/** List of all databases with a filter, a choice of columns and actions for several databases. */
import { Button, Checkbox, Popover, TextInput } from '@mantine/core';
import { IconColumns3, IconSearch } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useMemo, useState } from 'react';
import { ROLE_DENIED_TEXT, usePermission } from '@/api/access/session';
import { shownBdbsQuery } from '@/api/databases/bdbs';
import type { Bdb } from '@/api/types';
import { plural } from '@/lib/format';
import { Card } from '@/ui/Card';
import { EmptyState } from '@/ui/EmptyState';
import type { Column } from '@/ui/table/DataTable';
import classes from '../databases.module.css';
import { BulkDialog } from './BulkDialog';
import { BULK_ACTIONS, type BulkAction } from './bulkActions';
import { DatabaseTable, useDatabaseColumns } from './DatabaseTable';
import { filterDatabases, selectedDatabases } from './filterDatabases';
import { type ColumnChoiceState, useColumnChoice } from './useColumnChoice';
import { useFittingColumns } from './useFittingColumns';
import type { DatabaseColumn } from './visibleColumns';

interface Props {
  text: string;
  onText: (text: string) => void;
  empty: ReactNode;
}

/** With fewer databases, there is no filter and no selection. */
const MIN_ROWS_FOR_TOOLS = 2;

export function DatabaseList({ text, onText, empty }: Props) {
  const { data } = useQuery(shownBdbsQuery);
  const all = useDatabaseColumns();
  const columnChoice = useColumnChoice();
  const [selection, setSelection] = useState<ReadonlySet<number>>(new Set());
  const [bulkAction, setBulkAction] = useState<BulkAction | null>(null);
  const may = usePermission('edit');
  const hasTools = data !== undefined && data.length >= MIN_ROWS_FOR_TOOLS;
  const hasSelection = may && hasTools;
  const fitting = useFittingColumns(all, { choice: columnChoice.choice, hasSelection });
  const rows = useMemo(() => data && filterDatabases(data, text), [data, text]);
  const selected = selectedDatabases(selection, rows ?? []);
  const select = (uids: readonly number[], on: boolean) =>
    setSelection((now) => {
      const next = new Set(now);
      for (const uid of uids) {
        if (on) next.add(uid);
        else next.delete(uid);
      }
      return next;
    });
  // The dialog stays open to show the results, even if the selected databases no longer exist.
  const dialog = bulkAction && (
    <BulkDialog
      key="bulk"
      action={bulkAction}
      chosen={selected}
      onClose={() => setBulkAction(null)}
    />
  );
  if (!hasTools) {
    return (
      <>
        <Card flush>
          <DatabaseTable rows={data} fitting={fitting} empty={empty} />
        </Card>
        {dialog}
      </>
    );
  }
  return (
    <>
      <div className={classes.listTools}>
        <TextInput
          aria-label="Filter"
          placeholder="Name, tag, port, state …"
          leftSection={<IconSearch size={14} />}
          value={text}
          onChange={(event) => onText(event.currentTarget.value)}
        />
        <span className="dim" role="status">
          {text ? `${rows?.length} of ${data.length}` : plural(data.length, 'database')}
        </span>
        <Columns all={all} shown={fitting.columns} state={columnChoice} />
        {selected.length > 0 && (
          <fieldset className={classes.bulkBar}>
            <legend className="sr-only">Selected databases</legend>
            <span>{selected.length} selected</span>
            {BULK_ACTIONS.map((action) => (
              <Button
                key={action.id}
                variant="default"
                disabled={!may || !selected.some(action.isApplicable)}
                title={may ? undefined : ROLE_DENIED_TEXT}
                onClick={() => setBulkAction(action)}
              >
                {action.label}…
              </Button>
            ))}
          </fieldset>
        )}
      </div>
      <Card flush>
        <DatabaseTable
          rows={rows}
          fitting={fitting}
          selection={hasSelection ? selectionColumn(rows ?? [], selected, select) : undefined}
          empty={
            <EmptyState title="No matches">
              <span>
                No database contains all these words in its name, tags, endpoint, or features.
              </span>
              <Button variant="default" onClick={() => onText('')}>
                Show all {data.length}
              </Button>
            </EmptyState>
          }
        />
      </Card>
      {dialog}
    </>
  );
}

function selectionColumn(
  rows: readonly Bdb[],
  selected: readonly Bdb[],
  select: (uids: readonly number[], on: boolean) => void,
): Column<Bdb> {
  const uids = new Set(selected.map(({ uid }) => uid));
  return {
    id: 'chosen',
    header: 'Selected',
    width: 36,
    headerContent: (
      <Checkbox
        size="xs"
        aria-label="Select all shown databases"
        checked={rows.length > 0 && uids.size === rows.length}
        indeterminate={uids.size > 0 && uids.size < rows.length}
        onChange={(event) =>
          select(
            rows.map(({ uid }) => uid),
            event.currentTarget.checked,
          )
        }
      />
    ),
    cell: ({ uid, name }) => (
      <Checkbox
        size="xs"
        aria-label={`Select ${name}`}
        checked={uids.has(uid)}
        onChange={(event) => select([uid], event.currentTarget.checked)}
      />
    ),
  };
}

interface ColumnsProps {
  all: readonly DatabaseColumn[];
  shown: readonly DatabaseColumn[];
  state: ColumnChoiceState;
}

function Columns({ all, shown, state: { choice, show, reset } }: ColumnsProps) {
  const isAutomatic = Object.keys(choice).length === 0;
  return (
    <Popover position="bottom-end" trapFocus>
      <Popover.Target>
        <Button variant="default" leftSection={<IconColumns3 size={14} />}>
          Columns
        </Button>
      </Popover.Target>
      <Popover.Dropdown className={classes.columnChoice} aria-label="Columns">
        {all
          .filter(({ priority }) => priority > 0)
          .map((column) => (
            <Checkbox
              key={column.id}
              size="xs"
              label={column.header}
              checked={shown.includes(column)}
              onChange={(event) => show(column.id, event.currentTarget.checked)}
            />
          ))}
        <Button variant="default" size="compact-xs" disabled={isAutomatic} onClick={reset}>
          Show columns that fit
        </Button>
      </Popover.Dropdown>
    </Popover>
  );
}
