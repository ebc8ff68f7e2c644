/** Table of a document with the measured values next to the published ones. */
import type { ScenarioTable } from '@/api/types';
import { Dash } from '@/ui/Dash';
import { type Column, DataTable } from '@/ui/table/DataTable';
import classes from './scenarios.module.css';
import { cellText, exactText, hasValue, withUnit } from './scenarioText';

type Row = ScenarioTable['rows'][number];
type Source = 'published' | 'measured';

const MISSING: Record<Source, string> = {
  published: 'The document does not state this value',
  measured: 'Not measured',
};

const LABEL: Column<Row> = {
  id: 'label',
  header: '',
  cell: ({ label }) => <div className={classes.label}>{label}</div>,
};

interface Props {
  table: ScenarioTable;
  /** Which values to show; by default both. */
  only?: Source;
}

/** With more columns, both values are in one cell, so that the table fits. */
const MAX_PAIRS = 4;

export function ResultTable({ table, only }: Props) {
  const sources: Source[] = only ? [only] : ['published', 'measured'];
  const rows = only ? table.rows.filter((row) => row[only]?.some(hasValue)) : table.rows;
  const columns = table.columns.flatMap(({ name, unit }, index) => {
    // A column that the document does not have, such as a computed ratio.
    const isPublished = table.rows.some(({ published }) => hasValue(published?.[index]));
    const shown = sources.filter((source) => source === 'measured' || isPublished);
    const isStacked = table.columns.length > MAX_PAIRS;
    const cells = isStacked && shown.length > 0 ? [shown] : shown.map((source) => [source]);
    return cells.map(
      (cell): Column<Row> => ({
        id: `${index}-${cell.join()}`,
        header: withUnit(name, unit),
        headerContent: (
          <div className={classes.header}>
            {withUnit(name, unit)}
            {!only &&
              cell.map((source) => (
                <div key={source} className={classes.source}>
                  {source}
                </div>
              ))}
          </div>
        ),
        align: 'right',
        cell: (row) =>
          cell.map((source) => (
            <div key={source} className={cell.length > 1 ? classes[source] : undefined}>
              <Value value={row[source]?.[index]} unit={unit} source={source} />
            </div>
          )),
      }),
    );
  });
  return (
    <DataTable<Row>
      label={table.title}
      rows={rows}
      rowKey={({ label }) => label}
      columns={[LABEL, ...columns]}
      focusable
    />
  );
}

function Value(props: { value: number | string | null | undefined; unit: string; source: Source }) {
  const { value, unit, source } = props;
  if (!hasValue(value)) return <Dash reason={MISSING[source]} />;
  return (
    <span className="num" data-source={source} title={exactText(value, unit)}>
      {cellText(value, unit)}
    </span>
  );
}
