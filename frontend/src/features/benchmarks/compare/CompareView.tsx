/** Comparison of runs: results with the spread of their repetitions, and settings that differ. */
import { Alert } from '@mantine/core';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ComparisonChoice, comparisonQuery } from '@/api/benchmarks';
import { messageOf } from '@/api/http';
import type { BenchmarkComparison } from '@/api/types';
import { Card } from '@/ui/Card';
import { EmptyState } from '@/ui/EmptyState';
import { PageSkeleton } from '@/ui/Skeletons';
import { type Column, DataTable } from '@/ui/table/DataTable';
import classes from '../benchmarks.module.css';
import { PercentileCurves } from '../PercentileCurves';
import { figureLabel } from '../runText';
import { limitText, rateCurve } from '../search/findMax';
import { RateCurves } from '../search/RateCurves';
import { CompareOptions } from './CompareOptions';
import { RatioTables } from './RatioTables';
import { SpreadCell } from './SpreadCell';

type Figure = BenchmarkComparison['figures'][number];
type Setting = BenchmarkComparison['settings'][number];

/** More curves cannot be distinguished. */
const MAX_CURVES = 6;

interface Props {
  choice: ComparisonChoice;
  onChange: (part: Omit<Partial<ComparisonChoice>, 'uids'>) => void;
}

export function CompareView({ choice, onChange }: Props) {
  const { uids, baseline } = choice;
  const { data, error } = useQuery({
    ...comparisonQuery({ uids, baseline }),
    enabled: uids.length > 1,
    placeholderData: keepPreviousData,
  });
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
      header: index ? run.name : `${run.name} (baseline)`,
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
      <CompareOptions choice={choice} runs={data.runs} onChange={onChange} />
      {choice.group && <RatioTables choice={choice} />}
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
        curves={data.runs.slice(0, MAX_CURVES).map(({ uid, name, percentiles }, index, all) => ({
          // Names of runs are not unique.
          name: all.some((other, position) => position !== index && other.name === name)
            ? `${name} (${uid})`
            : name,
          points: percentiles,
        }))}
      />
      <CurvesNote count={data.runs.length} />
      <ComparedRates runs={data.runs} />
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

/** Curves of the searches with the same limit as the first one. */
function ComparedRates({ runs }: { runs: BenchmarkComparison['runs'] }) {
  const searches = runs.flatMap(({ uid, name, find_max }) =>
    find_max ? [{ name: `${name} (${uid})`, found: find_max }] : [],
  );
  const [first] = searches;
  if (!first) return null;
  const { limit, ms } = first.found;
  const same = searches.filter(({ found }) => found.limit === limit && found.ms === ms);
  return (
    <Card title={`Highest rate with ${limitText(first.found)}`}>
      {same.map(({ name, found }) => (
        <p key={name}>
          <strong>{name}</strong>: {found.text}
        </p>
      ))}
      <RateCurves
        label="Latency by rate"
        curves={same.slice(0, MAX_CURVES).map(({ name, found }) => rateCurve(name, found))}
        limitMs={ms}
      />
      <CurvesNote count={same.length} />
      {same.length < searches.length && (
        <p className={classes.dim}>Searches with another limit are not shown.</p>
      )}
    </Card>
  );
}

function CurvesNote({ count }: { count: number }) {
  if (count <= MAX_CURVES) return null;
  return (
    <p className={classes.dim}>
      The chart shows the first {MAX_CURVES} of {count} runs.
    </p>
  );
}

function FigureCell({ row, index }: { row: Figure; index: number }) {
  const value = row.values[index];
  const difference = index ? row.differences[index - 1] : null;
  return <SpreadCell name={row.name} value={value} difference={difference} />;
}
