/** A run: live progress while it is running, results and outages afterwards. */
import { Alert, Button, Menu, Progress } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useMemo, useState } from 'react';
import { ROLE_DENIED_TEXT, usePermission } from '@/api/access/session';
import {
  benchmarkQuery,
  deleteBenchmark,
  isOpen,
  reportPath,
  stopBenchmark,
} from '@/api/benchmarks';
import { ApiError, messageOf } from '@/api/http';
import type { Benchmark } from '@/api/types';
import { duration } from '@/lib/time';
import type { ChartMark } from '@/ui/chart/types';
import { EmptyState } from '@/ui/EmptyState';
import { SubmitDialog } from '@/ui/forms/SubmitDialog';
import { PageSkeleton } from '@/ui/Skeletons';
import { Status, StatusIcon } from '@/ui/Status';
import classes from './benchmarks.module.css';
import { drillMark, drillText } from './drillMark';
import { MEMTIER } from './form/runDraft';
import { RunAgain } from './RunAgain';
import { RunCharts } from './RunCharts';
import { RunClients } from './RunClients';
import { RunDatabase } from './RunDatabase';
import { RunResult } from './RunResult';
import { failureHint, toneOf, warningsOf } from './runText';
import { FindMaxCard } from './search/FindMaxCard';
import { stepOf, stepText } from './search/findMax';
import { useRunSeries } from './useRunSeries';

interface Props {
  uid: number;
  marks: readonly ChartMark[];
  /** Charts of the database on the time axis of the run. */
  charts: ReactNode;
  /** Progress of the drill of the run while it is running. */
  runningDrill?: ReactNode;
  onDeleted: () => void;
}

export function RunView({ uid, ...rest }: Props) {
  const { data: run, error } = useQuery(benchmarkQuery(uid));
  if (!run && error instanceof ApiError && error.status === 404) {
    return (
      <EmptyState title={`Benchmark ${uid} not found`}>
        <span>It may have been deleted.</span>
        <Link to="/benchmarks">All benchmarks</Link>
      </EmptyState>
    );
  }
  if (!run) return error ? <Alert color="red">{messageOf(error)}</Alert> : <PageSkeleton />;
  return <LoadedRun run={run} {...rest} />;
}

function LoadedRun({
  run,
  marks,
  charts,
  runningDrill,
  onDeleted,
}: Omit<Props, 'uid'> & { run: Benchmark }) {
  const open = isOpen(run);
  const series = useRunSeries(run.uid, open);
  // The drill runs in the first repetition of the measured phase, which is the last phase.
  const phaseStart = series.phaseStart(run.phases.length - 1, 0);
  const { drill, facts, status } = run;
  const all = useMemo(() => {
    const mark = drillMark({ drill, facts, status }, phaseStart);
    return mark ? [...marks, mark] : marks;
  }, [drill, facts, status, phaseStart, marks]);
  return (
    <div className={classes.stack}>
      <RunHeader run={run} open={open} onDeleted={onDeleted} />
      {drill && (
        <div className={classes.dim}>
          <strong>Drill</strong> {drillText(run)}
        </div>
      )}
      {runningDrill}
      {run.detail && (
        <Alert color={run.status === 'failed' ? 'red' : 'gray'} role="status">
          {run.detail}
          {run.status === 'failed' && <div>{failureHint(run)}</div>}
        </Alert>
      )}
      {open && <RunProgress run={run} />}
      <Warnings warnings={warningsOf(run)} />
      <FindMaxCard run={run} />
      {run.summary && <RunResult run={run} />}
      {run.summary && run.tool !== MEMTIER && <RunClients uid={run.uid} />}
      <RunCharts run={run} open={open} series={series} marks={all}>
        {charts}
      </RunCharts>
    </div>
  );
}

/** Warnings of the load generators that affect the interpretation of the results. */
function Warnings({ warnings }: { warnings: readonly string[] }) {
  return warnings.map((warning) => (
    <div key={warning} className={classes.concern} role="note">
      <StatusIcon tone="attention" />
      <span>{warning}</span>
    </div>
  ));
}

function RunProgress({ run }: { run: Benchmark }) {
  const phase = run.phase === null ? undefined : run.phases[run.phase]?.name;
  const step =
    run.phase === null || run.repetition === null
      ? undefined
      : stepOf(run, { phase: run.phase, repetition: run.repetition });
  const remaining = run.time_left === null ? '' : `, about ${duration(run.time_left)} remaining`;
  return (
    <div className={classes.progress}>
      <Progress value={run.progress} aria-label="Progress" />
      <span className="num">
        {phase ?? (run.status === 'queued' ? 'queued' : 'starting')}
        {run.repetitions > 1 && run.repetition !== null && phase
          ? `, ${run.repetition + 1} of ${run.repetitions}`
          : ''}
        {step && `, ${stepText(step)}`}: {Math.floor(run.progress)}%{remaining}
      </span>
    </div>
  );
}

const REPORTS = [
  { format: 'html', label: 'Web page' },
  { format: 'markdown', label: 'Markdown' },
  { format: 'csv', label: 'CSV (per second)' },
  { format: 'json', label: 'JSON' },
  { format: 'memtier', label: 'JSON (memtier_benchmark format)' },
  { format: 'guide', label: 'CSV (memory drive guide)' },
  { format: 'histogram', label: 'Histogram of each client' },
] as const;

function RunHeader({
  run,
  open,
  onDeleted,
}: {
  run: Benchmark;
  open: boolean;
  onDeleted: () => void;
}) {
  const may = usePermission('edit');
  const client = useQueryClient();
  const [dialog, setDialog] = useState<'stop' | 'delete' | null>(null);
  const close = () => setDialog(null);
  const refresh = () => client.invalidateQueries({ queryKey: ['benchmarks'] });
  return (
    <header className={classes.head}>
      <h1>{run.name}</h1>
      <Status tone={toneOf(run)} chip>
        {run.status}
      </Status>
      <span className={classes.dim}>
        on{' '}
        <Link to="/databases/$uid" params={{ uid: String(run.bdb_uid) }}>
          <RunDatabase run={run} />
        </Link>
        , from {run.load_nodes.map((uid) => `node ${uid}`).join(', ')}
        {run.tool === MEMTIER && ' by memtier_benchmark'}, started by {run.originator}
      </span>
      <div className={classes.actions}>
        {!open && (
          <Menu position="bottom-end">
            <Menu.Target>
              <Button variant="default">Report</Button>
            </Menu.Target>
            <Menu.Dropdown>
              {REPORTS.map(({ format, label }) => (
                <Menu.Item key={format} component="a" href={reportPath(run.uid, format)} download>
                  {label}
                </Menu.Item>
              ))}
            </Menu.Dropdown>
          </Menu>
        )}
        {!open && may && <RunAgain run={run} />}
        <Button
          variant="default"
          disabled={!may}
          title={may ? undefined : ROLE_DENIED_TEXT}
          onClick={() => setDialog(open ? 'stop' : 'delete')}
        >
          {open ? 'Stop' : 'Delete'}
        </Button>
      </div>
      {dialog === 'stop' && (
        <SubmitDialog
          title={`Stop ${run.name}?`}
          action="Stop run"
          onConfirm={async () => {
            await stopBenchmark(run.uid);
            await refresh();
          }}
          onClose={close}
        >
          Results that were measured so far are kept.
        </SubmitDialog>
      )}
      {dialog === 'delete' && (
        <SubmitDialog
          title={`Delete ${run.name}?`}
          action="Delete run"
          onConfirm={async () => {
            await deleteBenchmark(run.uid);
            onDeleted();
            await refresh();
          }}
          onClose={close}
        >
          All results of this run are deleted. The database does not change.
        </SubmitDialog>
      )}
    </header>
  );
}
