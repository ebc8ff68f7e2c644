/** One run: live while it goes on, with its result and its account of outages afterwards. */
import { Alert, Button, Menu, Progress } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useMemo, useState } from 'react';
import {
  benchmarkQuery,
  deleteBenchmark,
  isOpen,
  reportPath,
  stopBenchmark,
} from '@/api/benchmarks';
import { ApiError, messageOf } from '@/api/http';
import { ROLE_FORBIDS, useMay } from '@/api/session';
import type { Benchmark } from '@/api/types';
import { duration } from '@/lib/time';
import { Ask } from '@/ui/Ask';
import type { ChartMark } from '@/ui/chart/types';
import { EmptyState } from '@/ui/EmptyState';
import { PageSkeleton } from '@/ui/Skeletons';
import { Status, StatusIcon } from '@/ui/Status';
import classes from './benchmarks.module.css';
import { MEMTIER } from './draft';
import { drillMark, drillWords } from './drillMark';
import { RunCharts } from './RunCharts';
import { RunResult } from './RunResult';
import { useRunSeries } from './useRunSeries';
import { toneOf, warningsOf } from './words';

interface Props {
  uid: number;
  marks: readonly ChartMark[];
  /** Charts of the database, drawn on the axis of the run. */
  charts: ReactNode;
  onDeleted: () => void;
}

export function RunView({ uid, ...rest }: Props) {
  const { data: run, error } = useQuery(benchmarkQuery(uid));
  if (!run && error instanceof ApiError && error.status === 404) {
    return (
      <EmptyState title={`There is no benchmark ${uid}`}>
        <span>It may have been deleted.</span>
        <Link to="/benchmarks">All benchmarks</Link>
      </EmptyState>
    );
  }
  if (!run) return error ? <Alert color="red">{messageOf(error)}</Alert> : <PageSkeleton />;
  return <Shown run={run} {...rest} />;
}

function Shown({ run, marks, charts, onDeleted }: Omit<Props, 'uid'> & { run: Benchmark }) {
  const open = isOpen(run);
  const series = useRunSeries(run.uid, open);
  // It is struck in the first repetition of what is measured.
  const began = series.beganAt(run.phases.length - 1, 0);
  const { drill } = run;
  const all = useMemo(() => {
    const mark = drillMark({ drill }, began);
    return mark ? [...marks, mark] : marks;
  }, [drill, began, marks]);
  return (
    <div className={classes.stack}>
      <Head run={run} open={open} onDeleted={onDeleted} />
      {drill && (
        <div className={classes.dim}>
          <strong>Drill</strong> {drillWords(run)}
        </div>
      )}
      {run.detail && (
        <Alert color={run.status === 'failed' ? 'red' : 'gray'} role="status">
          {run.detail}
        </Alert>
      )}
      {open && <Going run={run} />}
      <Warnings warnings={warningsOf(run)} />
      {run.summary && <RunResult run={run} />}
      <RunCharts run={run} open={open} series={series} marks={all}>
        {charts}
      </RunCharts>
    </div>
  );
}

/** What is to be known of the figures: what the load generator cannot see, or had too little of. */
function Warnings({ warnings }: { warnings: readonly string[] }) {
  return warnings.map((warning) => (
    <div key={warning} className={classes.concern} role="note">
      <StatusIcon tone="attention" />
      <span>{warning}</span>
    </div>
  ));
}

function Going({ run }: { run: Benchmark }) {
  const phase = run.phase === null ? undefined : run.phases[run.phase]?.name;
  const left = run.time_left === null ? '' : `, about ${duration(run.time_left)} left`;
  return (
    <div className={classes.progress}>
      <Progress value={run.progress} aria-label="Progress" />
      <span className="num">
        {phase ?? (run.status === 'queued' ? 'waits for its turn' : 'begins')}
        {run.repetitions > 1 && run.repetition !== null && phase
          ? `, ${run.repetition + 1} of ${run.repetitions}`
          : ''}
        : {Math.floor(run.progress)} %{left}
      </span>
    </div>
  );
}

const REPORTS = [
  { format: 'html', label: 'Web page' },
  { format: 'markdown', label: 'Markdown' },
  { format: 'csv', label: 'CSV of the seconds' },
  { format: 'json', label: 'JSON' },
  { format: 'memtier', label: "JSON in memtier's layout" },
] as const;

function Head({ run, open, onDeleted }: { run: Benchmark; open: boolean; onDeleted: () => void }) {
  const may = useMay('edit');
  const client = useQueryClient();
  const [asked, setAsked] = useState<'stop' | 'delete' | null>(null);
  const close = () => setAsked(null);
  const again = () => client.invalidateQueries({ queryKey: ['benchmarks'] });
  return (
    <header className={classes.head}>
      <h1>{run.name}</h1>
      <Status tone={toneOf(run)} chip>
        {run.status}
      </Status>
      <span className={classes.dim}>
        on{' '}
        <Link to="/databases/$uid" params={{ uid: String(run.bdb_uid) }}>
          {run.bdb_name}
        </Link>
        , from {run.load_nodes.map((uid) => `node ${uid}`).join(', ')}
        {run.tool === MEMTIER && ' by memtier_benchmark'}, ordered by {run.originator}
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
        <Button
          variant="default"
          disabled={!may}
          title={may ? undefined : ROLE_FORBIDS}
          onClick={() => setAsked(open ? 'stop' : 'delete')}
        >
          {open ? 'Stop' : 'Delete'}
        </Button>
      </div>
      {asked === 'stop' && (
        <Ask
          title={`Stop ${run.name}?`}
          action="Stop the run"
          onConfirm={async () => {
            await stopBenchmark(run.uid);
            await again();
          }}
          onClose={close}
        >
          What it has measured is kept.
        </Ask>
      )}
      {asked === 'delete' && (
        <Ask
          title={`Delete ${run.name}?`}
          action="Delete the run"
          onConfirm={async () => {
            await deleteBenchmark(run.uid);
            onDeleted();
            await again();
          }}
          onClose={close}
        >
          Everything that it measured is gone then. The database is not touched.
        </Ask>
      )}
    </header>
  );
}
