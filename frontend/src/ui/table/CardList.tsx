/** Rows of a table as cards, for narrow screens: each value has its label. */
import type { ReactNode } from 'react';
import classes from './CardList.module.css';
import type { Column } from './DataTable';

interface Props<T> {
  label: string;
  columns: readonly Column<T>[];
  /** Ids of the columns in the first line of a card, without labels. */
  head: readonly string[];
  rows: readonly T[];
  rowKey: (row: T) => string | number;
  empty?: ReactNode;
}

export function CardList<T>({ label, columns, head, rows, rowKey, empty }: Props<T>) {
  if (rows.length === 0 && empty) return <>{empty}</>;
  const inHead = head.flatMap((id) => columns.find((column) => column.id === id) ?? []);
  const others = columns.filter(({ id }) => !head.includes(id));
  return (
    <ul className={classes.list} aria-label={label}>
      {rows.map((row) => (
        <li key={rowKey(row)}>
          <div className={classes.head}>
            {inHead.map((column) => (
              <div key={column.id}>{column.cell(row)}</div>
            ))}
          </div>
          <dl>
            {others.map((column) => (
              <div key={column.id}>
                <dt>{column.header}</dt>
                <dd>{column.cell(row)}</dd>
              </div>
            ))}
          </dl>
        </li>
      ))}
    </ul>
  );
}
