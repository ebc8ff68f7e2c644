/** Table that becomes a list of cards on narrow screens. */
import { CardList } from './CardList';
import { DataTable, sortRows } from './DataTable';
import { CARD_WIDTH, useWidth } from './useWidth';

type Props<T> = Parameters<typeof DataTable<T>>[0] & {
  /** Ids of the columns in the first line of a card. */
  head: readonly string[];
};

export function CardTable<T>({ head, ...table }: Props<T>) {
  const [container, width] = useWidth();
  const { label, columns, rows, rowKey, empty, initialSort } = table;
  const isNarrow = width !== undefined && width < CARD_WIDTH;
  return (
    <div ref={container}>
      {isNarrow && rows ? (
        <CardList
          label={label}
          columns={columns}
          head={head}
          rows={sortRows(rows, columns, initialSort) ?? []}
          rowKey={rowKey}
          empty={empty}
        />
      ) : (
        <DataTable {...table} />
      )}
    </div>
  );
}
