/** Columns of the table of databases that fit into the available width. */
import { useQuery } from '@tanstack/react-query';
import { shownBdbsQuery } from '@/api/databases/bdbs';
import { CARD_WIDTH, useWidth } from '@/ui/table/useWidth';
import { type ColumnChoice, type DatabaseColumn, visibleColumns } from './visibleColumns';

export interface FittingColumns {
  /** `ref` of the element that contains the table. */
  container: (element: HTMLElement | null) => void;
  columns: readonly DatabaseColumn[];
}

const NO_CHOICE: ColumnChoice = {};
const SELECTION_WIDTH = 60;

export function useFittingColumns(
  all: readonly DatabaseColumn[],
  { choice = NO_CHOICE, hasSelection = false } = {},
): FittingColumns {
  const [container, width] = useWidth();
  // All databases, so that columns do not change while the user filters.
  const bdbs = useQuery(shownBdbsQuery).data ?? [];
  const isCard = width === undefined || width < CARD_WIDTH;
  const available = hasSelection && !isCard ? Math.max(width - SELECTION_WIDTH, CARD_WIDTH) : width;
  return { container, columns: visibleColumns(all, bdbs, choice, available) };
}
