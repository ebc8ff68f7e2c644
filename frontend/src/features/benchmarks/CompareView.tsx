/** Comparison of runs: results with the spread of their repetitions, and settings that differ. */
import { Alert } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { comparisonQuery } from '@/api/benchmarks';
import { messageOf } from '@/api/http';
import type { BenchmarkComparison } from '@/api/types';
import { Card } from '@/ui/Card';
import { EmptyState } from '@/ui/EmptyState';
import { PageSkeleton } from '@/ui/Skeletons';
import { type Column, DataTable } from '@/ui/table/DataTable';
import classes from './benchmarks.module.css';
import { PercentileCurves } from './PercentileCurves';
import { figureLabel, figureValue } from './runText';

type Figure = BenchmarkComparison['figures'][number];
type Setting = BenchmarkComparison['settings'][number];
type Difference = NonNullable<Figure['differences'][number]>;

export function CompareView({ uids }: { uids: readonly number[] }) {
  const { data, error } = useQuery({ ...comparisonQuery(uids), enabled: uids.length > 1 });
  if (uids.length < 2) {
    return (
      <EmptyState title="Select at least two runs">
        <Link to="/benchmarks">All benchmarks</Link>
      </EmptyState>
    );
  }
  if (!data) return error ? <Alert color="red">{messageOf(error)}</Alert> : <PageSkeleton />;
  const perRun = <T,>(cell: (row: T, index: number) => React.ReactNode): Column<T>[] =>
    data.runs.map((run, index) => ({
      id: String(run.uid),
      header: index ? run.name : `${run.name} (base)`,
      align: 'right',
      cell: (row) => cell(row, index),
    }));
  return (
    <div className={classes.stack}>
      <p className={classes.dim}>
        {data.runs.map(({ uid, name }, index) => (
          <span key={uid}>
            {index > 0 && ', '}
            <Link to="/benchmarks/$uid" params={{ uid: String(uid) }}>
              {name}
            </Link>
          </span>
        ))}
      </p>
      <Card title="Figures" flush>
        <DataTable<Figure>
          label="Figures"
          rows={data.figures}
          rowKey={({ name }) => name}
          columns={[
            { id: 'name', header: 'Figure', cell: ({ name }) => figureLabel(name) },
            ...perRun<Figure>((row, index) => <FigureCell row={row} index={index} />),
          ]}
        />
      </Card>
      <p className={classes.dim}>
        A difference is significant if it is larger than the differences among repetitions of the
        same run. For a run without repetitions, the noise is unknown.
      </p>
      <PercentileCurves
        curves={data.runs.map(({ uid, name, percentiles }, index, all) => ({
          // Names of runs are not unique.
          name: all.some((other, position) => position !== index && other.name === name)
            ? `${name} (${uid})`
            : name,
          points: percentiles,
        }))}
      />
      <Card title="Settings that differ" flush>
        <DataTable<Setting>
          label="Settings that differ"
          rows={data.settings}
          rowKey={({ name }) => name}
          columns={[
            { id: 'name', header: 'Setting', cell: ({ label }) => label },
            ...perRun<Setting>((row, index) => String(row.values[index] ?? 'not set')),
          ]}
          empty={<EmptyState title="All settings are identical" />}
        />
      </Card>
    </div>
  );
}

function FigureCell({ row, index }: { row: Figure; index: number }) {
  const value = row.values[index];
  const difference = index ? row.differences[index - 1] : null;
  return (
    <>
      {figureValue(row.name, value?.mean)}
      {value && value.least !== value.most && (
        <div className={classes.dim}>
          {figureValue(row.name, value.least)} to {figureValue(row.name, value.most)}
        </div>
      )}
      {difference && <div className={classes.dim}>{differenceText(difference)}</div>}
    </>
  );
}

function differenceText({ ratio, stands_out }: Difference): string {
  const times = `${ratio.toFixed(2)}×`;
  if (stands_out === null) return `${times}, noise unknown`;
  return stands_out ? `${times}, significant` : `${times}, within noise`;
}
