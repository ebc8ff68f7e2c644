/** Columns of the table of databases that are shown: those that the user chose, and those that fit and are not empty. Pure. */
import type { Bdb } from '@/api/types';
import type { Column } from '@/ui/table/DataTable';
import { CARD_WIDTH } from '@/ui/table/useWidth';

export interface DatabaseColumn extends Column<Bdb> {
  /** Approximate width in pixels, including padding. */
  space: number;
  /** Columns with lower numbers are shown first if not all fit; 0 for columns that are always shown. */
  priority: number;
  /** Whether the column has no content for any database. Such columns are hidden unless the user chose them. */
  isEmpty?: (bdbs: readonly Bdb[]) => boolean;
}

/** Whether the user wants a column, by its id. Other columns are shown automatically. */
export type ColumnChoice = Readonly<Record<string, boolean>>;

/** `width` is the available width in pixels, undefined before it is known. */
export function visibleColumns(
  columns: readonly DatabaseColumn[],
  bdbs: readonly Bdb[],
  choice: ColumnChoice,
  width: number | undefined,
): DatabaseColumn[] {
  const isChosen = ({ id, priority }: DatabaseColumn) => priority === 0 || choice[id] === true;
  const candidates = columns.filter(
    (column) => isChosen(column) || (choice[column.id] !== false && !column.isEmpty?.(bdbs)),
  );
  // Cards have a line for each value, so everything fits.
  if (width === undefined || width < CARD_WIDTH) return candidates;
  const shown = new Set(candidates.filter(isChosen));
  let left = width - [...shown].reduce((sum, { space }) => sum + space, 0);
  for (const column of candidates.toSorted((a, b) => a.priority - b.priority)) {
    if (shown.has(column)) continue;
    left -= column.space;
    // A narrower column of a lower priority must not replace a column of a higher one.
    if (left < 0) break;
    shown.add(column);
  }
  return candidates.filter((column) => shown.has(column));
}
