/** Progress of a scenario run: its parts with their steps, and links to their benchmark runs. */
import { Progress } from '@mantine/core';
import { IconCircleDashed } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { benchmarksQuery } from '@/api/benchmarks';
import type { Benchmark, ScenarioRun, ScenarioRunPart } from '@/api/types';
import { plural } from '@/lib/format';
import { duration } from '@/lib/time';
import { Bar } from '@/ui/Bar';
import { Card } from '@/ui/Card';
import { StatusIcon, type Tone } from '@/ui/Status';
import benchmarkClasses from '../benchmarks.module.css';
import { figureValue, measuredResult, toneOf } from '../runText';
import classes from './scenarios.module.css';
import { type PartStep, partText, partTone, stepsOf } from './scenarioText';

/** Number of benchmark runs of a part that are listed without expanding it. */
const LISTED_RUNS = 4;

export function OverallProgress({ run }: { run: ScenarioRun }) {
  const remaining = run.time_left === null ? '' : `, about ${duration(run.time_left)} remaining`;
  return (
    <div className={benchmarkClasses.progress}>
      <Progress value={run.progress} aria-label="Progress" />
      <span className="num">
        {run.step || 'Waiting to start'}: {Math.floor(run.progress)}%{remaining}
      </span>
    </div>
  );
}

export function ScenarioParts({ run }: { run: ScenarioRun }) {
  return (
    <Card title="Parts">
      <ol className={classes.parts}>
        {run.parts.map((part, index) => (
          <li key={part.name} aria-current={index === run.part ? 'step' : undefined}>
            <Part part={part} isKept={run.keep} />
          </li>
        ))}
      </ol>
    </Card>
  );
}

function Part({ part, isKept }: { part: ScenarioRunPart; isKept: boolean }) {
  const steps = stepsOf(part.status, isKept);
  return (
    <>
      <div className={classes.partHead}>
        <span className={classes.mark}>
          <Mark tone={partTone(part.status)} />
          <strong>{part.name}</strong>
        </span>
        <span className={benchmarkClasses.dim}>{part.status}</span>
        {steps.length > 0 && (
          <>
            <span className={classes.partBar}>
              <Bar value={part.progress / 100} label={`Progress of ${part.name}`} />
            </span>
            <span className={`num ${classes.percent}`}>{Math.floor(part.progress)}%</span>
          </>
        )}
      </div>
      <div className={classes.partBody}>
        <span className={benchmarkClasses.dim}>{partText(part.plan)}</span>
        {steps.length > 0 && <Steps steps={steps} />}
        {part.detail && (
          <div className={benchmarkClasses.concern}>
            <StatusIcon tone={partTone(part.status)} />
            <span>{part.detail}</span>
          </div>
        )}
        {isKept && part.bdb_uids.length > 0 && <Databases uids={part.bdb_uids} />}
        <PartRuns uids={part.benchmark_uids} />
      </div>
    </>
  );
}

const STEP_TONES = { waiting: 'unknown', running: 'progress', completed: 'ok' } as const;

/** A part or step without a state has not been started. */
function Mark({ tone }: { tone: Tone }) {
  if (tone !== 'unknown') return <StatusIcon tone={tone} />;
  return <IconCircleDashed size={14} aria-hidden style={{ color: 'var(--unknown)' }} />;
}

function Steps({ steps }: { steps: readonly PartStep[] }) {
  return (
    <ol className={classes.steps}>
      {steps.map(({ name, state }) => (
        <li key={name}>
          <span className={classes.mark}>
            <Mark tone={STEP_TONES[state]} />
            <span className="sr-only">{state}: </span>
            {name}
          </span>
        </li>
      ))}
    </ol>
  );
}

function Databases({ uids }: { uids: readonly number[] }) {
  return (
    <details>
      <summary>{plural(uids.length, 'database')} kept</summary>
      {uids.map((uid) => (
        <span key={uid}>
          <Link to="/databases/$uid" params={{ uid: String(uid) }}>
            Database {uid}
          </Link>{' '}
        </span>
      ))}
    </details>
  );
}

function PartRuns({ uids }: { uids: readonly number[] }) {
  const { data = [] } = useQuery(benchmarksQuery);
  const runs = new Map(data.map((run) => [run.uid, run]));
  const links = uids.map((uid) => (
    <li key={uid}>
      <RunLink uid={uid} run={runs.get(uid)} />
    </li>
  ));
  if (links.length <= LISTED_RUNS) return <ul className={classes.runs}>{links}</ul>;
  const ended = uids.filter((uid) => runs.get(uid)?.status === 'completed').length;
  return (
    <details>
      <summary className="num">
        {plural(uids.length, 'benchmark run')}, {ended} completed
      </summary>
      <ul className={classes.runs}>{links}</ul>
    </details>
  );
}

function RunLink({ uid, run }: { uid: number; run: Benchmark | undefined }) {
  const result = run && measuredResult(run);
  return (
    <span className={classes.run}>
      {run && <StatusIcon tone={toneOf(run)} />}
      <Link to="/benchmarks/$uid" params={{ uid: String(uid) }}>
        {run?.name ?? `Benchmark ${uid}`}
      </Link>
      {run && (
        <span className={`num ${benchmarkClasses.dim}`}>
          {run.status === 'running' ? `running, ${Math.floor(run.progress)}%` : run.status}
          {result &&
            `: ${figureValue('ops_per_second', result.ops_per_second)}, average ${figureValue('average_ms', result.average_ms)}, P99 ${figureValue('p99_ms', result.p99_ms)}`}
        </span>
      )}
    </span>
  );
}
