/** Factors between databases or tagged runs, by scenario, phase, or name. */
import { Alert } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ComparisonChoice, comparisonQuery } from '@/api/benchmarks';
import { messageOf } from '@/api/http';
import type { BenchmarkComparison } from '@/api/types';
import { Card } from '@/ui/Card';
import { DataTable } from '@/ui/table/DataTable';
import { figureLabel } from '../runText';
import { SpreadCell } from './SpreadCell';

type Row = NonNullable<BenchmarkComparison['ratios']>['tables'][number]['rows'][number];

const GROUPS = { scenario: 'Scenario', phase: 'Phase', name: 'Run' } as const;

export function RatioTables({ choice }: { choice: ComparisonChoice }) {
  const { data, error } = useQuery(comparisonQuery(choice));
  if (error) return <Alert color="red">{messageOf(error)}</Alert>;
  const ratios = data?.ratios;
  return ratios?.tables.map((table) => (
    <Card key={table.name} title={`${figureLabel(table.name)}: factors`} flush>
      <DataTable<Row>
        label={`Factors of ${figureLabel(table.name)}`}
        rows={table.rows}
        rowKey={({ label }) => label}
        columns={[
          { id: 'row', header: GROUPS[ratios.group], cell: ({ label }) => label },
          ...ratios.columns.map((column, index) => ({
            id: column,
            header: index ? column : `${column} (baseline)`,
            align: 'right' as const,
            cell: (row: Row) => (
              <SpreadCell
                name={table.name}
                value={row.values[index]}
                difference={index ? row.differences[index - 1] : null}
                factorFirst
              />
            ),
          })),
        ]}
      />
    </Card>
  ));
}
