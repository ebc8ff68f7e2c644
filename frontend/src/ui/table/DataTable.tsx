/** Table component: columns are declared as data, headers sort the rows, and a click on a row can open an object. */
import { IconChevronDown, IconChevronUp } from '@tabler/icons-react';
import { Fragment, type ReactNode, useMemo, useRef, useState } from 'react';
import { ZoneName } from '../ZoneName';
import classes from './DataTable.module.css';
import { useVirtualRows, type VirtualRow } from './useVirtualRows';

export interface Column<T> {
  id: string;
  header: string;
  cell: (row: T) => ReactNode;
  /** Content of the header cell, instead of the text of `header`. */
  headerContent?: ReactNode;
  /** Makes the column sortable. NaN, for unknown values, is sorted last. */
  sort?: (row: T) => string | number;
  /** Whether the first click on the header sorts in descending order. */
  descendingFirst?: boolean;
  align?: 'left' | 'right';
  width?: string | number;
  /** Whether the cells are absolute times. The header then contains the time zone. */
  isTime?: boolean;
  /** Whether to hide the column on narrow screens. */
  optional?: boolean;
}

interface Props<T> {
  label: string;
  columns: readonly Column<T>[];
  rows: readonly T[] | undefined;
  rowKey: (row: T) => string | number;
  /** Called for a click anywhere on the row. A cell must contain a link for keyboard users. */
  onOpen?: (row: T) => void;
  initialSort?: { id: string; descending?: boolean };
  empty?: ReactNode;
  /** Whether the table can have the keyboard focus, so that it can be scrolled. Only for tables without controls. */
  focusable?: boolean;
}

const SKELETON_ROWS = 4;

function titleOf<T>({ headerContent, header, isTime }: Column<T>): ReactNode {
  const title = headerContent ?? header;
  if (!isTime) return title;
  return (
    <>
      {title} <ZoneName />
    </>
  );
}

export function DataTable<T>(props: Props<T>) {
  const { label, columns, rows, rowKey, onOpen, initialSort, empty, focusable } = props;
  const [sort, setSort] = useState(initialSort);
  const sorted = useMemo(() => sortRows(rows, columns, sort), [rows, columns, sort]);
  const table = useRef<HTMLTableElement>(null);
  const long = useVirtualRows({
    table,
    count: sorted?.length ?? 0,
    keyOf: (index) => {
      const row = sorted?.[index];
      return row === undefined ? index : rowKey(row);
    },
    columns: useMemo(() => columns.map(({ id }) => id), [columns]),
  });
  if (rows?.length === 0 && empty) return <>{empty}</>;

  const sortBy = ({ id, descendingFirst = false }: Column<T>) =>
    setSort((now) => ({ id, descending: now?.id === id ? !now.descending : descendingFirst }));

  return (
    <div className={classes.scroll} tabIndex={focusable ? 0 : undefined}>
      <table
        ref={table}
        className={classes.table}
        aria-label={label}
        aria-busy={!rows}
        aria-rowcount={long.rows && (sorted?.length ?? 0) + 1}
        data-fixed={long.widths && true}
      >
        <thead>
          <tr>
            {columns.map((column) => (
              <th
                key={column.id}
                scope="col"
                style={{
                  width: long.widths?.get(column.id) ?? column.width,
                  textAlign: column.align,
                }}
                data-optional={column.optional || undefined}
                aria-sort={
                  sort?.id === column.id
                    ? sort.descending
                      ? 'descending'
                      : 'ascending'
                    : undefined
                }
              >
                {column.sort ? (
                  <button type="button" onClick={() => sortBy(column)}>
                    {titleOf(column)}
                    {sort?.id === column.id &&
                      (sort.descending ? (
                        <IconChevronDown size={12} />
                      ) : (
                        <IconChevronUp size={12} />
                      ))}
                  </button>
                ) : (
                  titleOf(column)
                )}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {visibleRows(sorted, long.rows)?.map(({ row, at, before }) => (
            <Fragment key={rowKey(row)}>
              {before > 0 && <Spacer height={before} columns={columns.length} />}
              <tr
                ref={long.rows && long.measure}
                data-index={long.rows && at}
                aria-rowindex={long.rows && at + 2}
                data-open={onOpen ? true : undefined}
                onClick={onOpen && ((event) => !isControl(event.target) && onOpen(row))}
              >
                {columns.map((column) => (
                  <td
                    key={column.id}
                    style={{ textAlign: column.align }}
                    data-optional={column.optional || undefined}
                    data-label={column.header || undefined}
                  >
                    {column.cell(row)}
                  </td>
                ))}
              </tr>
            </Fragment>
          ))}
          {long.after > 0 && <Spacer height={long.after} columns={columns.length} />}
          {!rows &&
            Array.from({ length: SKELETON_ROWS }, (_, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: placeholders have no identity
              <tr key={index} className={classes.skeleton}>
                {columns.map((column) => (
                  <td key={column.id} data-optional={column.optional || undefined}>
                    <span />
                  </td>
                ))}
              </tr>
            ))}
        </tbody>
      </table>
    </div>
  );
}

/** Placeholder for rows that are not rendered. */
function Spacer({ height, columns }: { height: number; columns: number }) {
  return (
    <tr aria-hidden className={classes.spacer}>
      <td colSpan={columns} style={{ height }} />
    </tr>
  );
}

function visibleRows<T>(
  rows: readonly T[] | undefined,
  virtualRows: readonly VirtualRow[] | undefined,
) {
  if (!virtualRows) return rows?.map((row, at) => ({ row, at, before: 0 }));
  return virtualRows.flatMap(({ index: at, before }) => {
    const row = rows?.[at];
    return row === undefined ? [] : [{ row, at, before }];
  });
}

export function sortRows<T>(
  rows: readonly T[] | undefined,
  columns: readonly Column<T>[],
  sort: Props<T>['initialSort'],
): readonly T[] | undefined {
  const value = columns.find((column) => column.id === sort?.id)?.sort;
  if (!rows || !value) return rows;
  const sign = sort?.descending ? -1 : 1;
  return [...rows].sort((a, b) => {
    const x = value(a);
    const y = value(b);
    if (typeof x === 'number' && typeof y === 'number') {
      if (Number.isNaN(x) || Number.isNaN(y))
        return Number(Number.isNaN(x)) - Number(Number.isNaN(y));
      return sign * (x - y);
    }
    return sign * String(x).localeCompare(String(y), 'en', { numeric: true });
  });
}

function isControl(target: EventTarget): boolean {
  return target instanceof Element && target.closest('a, button, input, label') !== null;
}
