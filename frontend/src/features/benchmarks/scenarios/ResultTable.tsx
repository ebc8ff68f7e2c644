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

export function ResultTable({ table, only }: Props) {
  const sources: Source[] = only ? [only] : ['published', 'measured'];
  const rows = only ? table.rows.filter((row) => row[only]?.some(hasValue)) : table.rows;
  const columns = table.columns.flatMap(({ name, unit }, index) =>
    sources
      // A column that the document does not have, such as a computed ratio.
      .filter(
        (source) =>
          source === 'measured' || table.rows.some(({ published }) => hasValue(published?.[index])),
      )
      .map((source): Column<Row> => {
        const title = withUnit(name, unit);
        return {
          id: `${index}-${source}`,
          header: title,
          headerContent: (
            <div className={classes.header}>
              {title}
              {!only && <div className={classes.source}>{source}</div>}
            </div>
          ),
          align: 'right',
          cell: (row) => <Value value={row[source]?.[index]} unit={unit} source={source} />,
        };
      }),
  );
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
