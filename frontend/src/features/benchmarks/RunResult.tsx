/** Result of a run: measured values, SLA limits, outages and phases. */
import type { Benchmark, BenchmarkResult } from '@/api/types';
import { format, plural } from '@/lib/format';
import { formatDateTime } from '@/lib/time';
import { Card } from '@/ui/Card';
import { Status, StatusIcon } from '@/ui/Status';
import { DataTable } from '@/ui/table/DataTable';
import { useZone } from '@/ui/useZone';
import classes from './benchmarks.module.css';
import { PercentileCurves } from './PercentileCurves';
import {
  FIGURES,
  figureLabel,
  figureValue,
  measuredResult,
  rangeText,
  workloadText,
} from './runText';
import { stepOf, stepResult, stepText } from './search/findMax';

export function RunResult({ run }: { run: Benchmark }) {
  const result = measuredResult(run);
  const summary = run.summary;
  if (!summary) return null;
  return (
    <>
      {result ? <Tiles run={run} result={result} /> : null}
      {result?.generator.is_bottleneck && (
        <div className={classes.concern} role="note">
          <StatusIcon tone="attention" />
          <span>
            A thread of the load generator used all of its CPU time, so the load generator limited
            the result, not the database. Use more load nodes or threads.
          </span>
        </div>
      )}
      <MismatchedKeys results={summary.results} />
      {summary.verdict.limits.length > 0 && (
        <Card title="SLA" flush>
          <DataTable
            label="SLA"
            rows={summary.verdict.limits}
            rowKey={({ name }) => name}
            columns={[
              { id: 'limit', header: 'Limit', cell: ({ name }) => figureLabel(name) },
              {
                id: 'wanted',
                header: 'Target',
                align: 'right',
                cell: ({ name, limit }) =>
                  `${name.startsWith('min_') ? '≥' : '≤'} ${figureValue(name, limit)}`,
              },
              {
                id: 'measured',
                header: 'Measured',
                align: 'right',
                cell: ({ name, value }) => figureValue(name, value),
              },
              {
                id: 'kept',
                header: '',
                cell: ({ kept }) => (
                  <Status tone={kept ? 'ok' : 'broken'}>{kept ? 'Met' : 'Missed'}</Status>
                ),
              },
            ]}
          />
        </Card>
      )}
      {result && (
        <PercentileCurves
          curves={[{ name: result.phase_name, points: summary.percentiles ?? [] }]}
        />
      )}
      <Outages results={summary.results} />
      <Card title="Phases" flush>
        <DataTable
          label="Phases of the run"
          rows={summary.results}
          rowKey={({ phase, repetition }) => `${phase}.${repetition}`}
          columns={[
            {
              id: 'part',
              header: 'Phase',
              cell: (row) => <PhaseCell run={run} result={row} />,
            },
            ...FIGURES.map(({ name, label }) => ({
              id: name,
              header: label,
              align: 'right' as const,
              optional: name !== 'ops_per_second' && name !== 'p99_ms' && name !== 'average_ms',
              cell: (row: BenchmarkResult) =>
                figureValue(name, row[name as 'p99_ms'] as number | null),
            })),
            {
              id: 'errors',
              header: 'Errors',
              align: 'right',
              cell: (row) => {
                const kinds = Object.entries(row.errors);
                const sum = kinds.reduce((all, [, count]) => all + count, 0);
                const details = kinds.map(([kind, count]) => `${kind}: ${count}`).join('\n');
                return <span title={details || undefined}>{format('count', sum)}</span>;
              },
            },
          ]}
        />
      </Card>
    </>
  );
}

function PhaseCell({ run, result }: { run: Benchmark; result: BenchmarkResult }) {
  const { phase, phase_name, repetition } = result;
  const step = stepOf(run, result);
  const isRepeated = run.repetitions > 1 && phase === run.phases.length - 1;
  const suffix = step ? `, ${stepText(step)}` : isRepeated ? `, ${repetition + 1}` : '';
  return (
    <>
      {phase_name}
      {suffix}
      <div className={classes.dim}>
        {step ? stepResult(step) : workloadText(run.phases[phase]?.workload ?? {})}
      </div>
    </>
  );
}

function Tiles({ run, result }: { run: Benchmark; result: BenchmarkResult }) {
  const spread = run.summary?.spread ?? {};
  return (
    <section className={classes.tiles} aria-label="Measured">
      {FIGURES.map(({ name, label }) => {
        const range = spread[name];
        const isRepeated = (run.repetitions > 1 || run.find_max !== null) && range !== undefined;
        return (
          <div key={name} className={classes.tile}>
            <span>{label}</span>
            <strong>
              {figureValue(
                name,
                isRepeated ? range.mean : (result[name as 'p99_ms'] as number | null),
              )}
            </strong>
            {isRepeated && <span>{rangeText(name, range)}</span>}
          </div>
        );
      })}
    </section>
  );
}

/** Number of wrong values, with the first keys. */
function MismatchedKeys({ results }: { results: readonly BenchmarkResult[] }) {
  const count = results.reduce((sum, { errors }) => sum + (errors.mismatch ?? 0), 0);
  if (!count) return null;
  const keys = [...new Set(results.flatMap(({ mismatched_keys }) => mismatched_keys ?? []))];
  return (
    <div className={classes.concern} role="note">
      <StatusIcon tone="broken" />
      <span>
        {plural(count, 'value')} differed from the value that was written
        {keys.length > 0 && <>, first for {keys.join(', ')}</>}.
      </span>
    </div>
  );
}

function Outages({ results }: { results: readonly BenchmarkResult[] }) {
  const zone = useZone();
  const outages = results.flatMap((result) => result.outages);
  if (!outages.length) return null;
  return (
    <Card title="Outages observed by the load generator" flush>
      <DataTable
        label="Outages"
        rows={outages}
        rowKey={({ shard, began }) => `${shard}-${began}`}
        columns={[
          { id: 'shard', header: 'Shard', cell: ({ shard }) => shard },
          {
            id: 'began',
            header: 'Last successful request',
            isTime: true,
            cell: ({ began }) => formatDateTime(began * 1000, zone),
          },
          {
            id: 'seconds',
            header: 'Duration',
            align: 'right',
            cell: ({ seconds, ended }) =>
              `${seconds.toFixed(2)} s${ended === null ? ', ongoing' : ''}`,
          },
          {
            id: 'errors',
            header: 'Errors',
            cell: ({ errors }) =>
              Object.entries(errors)
                .map(([kind, count]) => `${count} ${kind}`)
                .join(', ') || 'none',
          },
          {
            id: 'lost',
            header: 'Requests without a reply',
            align: 'right',
            cell: ({ lost, retried }) =>
              retried ? `${lost}, ${plural(retried, 'retry', 'retries')}` : String(lost),
          },
        ]}
      />
    </Card>
  );
}
