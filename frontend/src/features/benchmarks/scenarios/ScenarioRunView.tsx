/** A scenario run: progress of its parts while it is running, and the document's tables with the measured values. */
import { Alert, Button, Menu } from '@mantine/core';
import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { ROLE_DENIED_TEXT, usePermission } from '@/api/access/session';
import { ApiError, messageOf } from '@/api/http';
import {
  deleteScenarioRun,
  isOpenScenarioRun,
  scenarioReportPath,
  scenarioRunQuery,
  scenariosQuery,
  stopScenarioRun,
} from '@/api/scenarios';
import type { ScenarioRun } from '@/api/types';
import { duration } from '@/lib/time';
import { Ago } from '@/ui/Ago';
import { EmptyState } from '@/ui/EmptyState';
import { SubmitButton } from '@/ui/forms/SubmitButton';
import { SubmitDialog } from '@/ui/forms/SubmitDialog';
import { PageSkeleton } from '@/ui/Skeletons';
import { Status } from '@/ui/Status';
import benchmarkClasses from '../benchmarks.module.css';
import { BaselineSelect } from './BaselineSelect';
import { OverallProgress, ScenarioParts } from './ScenarioProgress';
import { ScenarioResult } from './ScenarioResult';
import { StartScenario } from './StartScenario';
import classes from './scenarios.module.css';
import { runSeconds, scaleText, scenarioTone } from './scenarioText';

interface Props {
  uid: number;
  /** Another run of the same scenario that this one is compared with. */
  baseline: number | undefined;
  onBaseline: (uid: number | undefined) => void;
  onStarted: (run: ScenarioRun) => void;
  onDeleted: () => void;
}

export function ScenarioRunView(props: Props) {
  const { uid, baseline } = props;
  const { data: run, error } = useQuery({
    ...scenarioRunQuery(uid, baseline),
    placeholderData: keepPreviousData,
  });
  if (!run && error instanceof ApiError && error.status === 404) {
    return (
      <EmptyState title={`Scenario run ${uid} not found`}>
        <span>It may have been deleted.</span>
        <Link to="/benchmarks/scenarios">All scenarios</Link>
      </EmptyState>
    );
  }
  if (!run) return error ? <Alert color="red">{messageOf(error)}</Alert> : <PageSkeleton />;
  return <LoadedRun run={run} {...props} />;
}

function LoadedRun(props: Props & { run: ScenarioRun }) {
  const { run, baseline, onBaseline } = props;
  const isOpen = isOpenScenarioRun(run);
  return (
    <div className={benchmarkClasses.stack}>
      <RunHeader {...props} isOpen={isOpen} />
      <Origin run={run} />
      {run.detail && (
        <Alert color={run.status === 'failed' ? 'red' : 'gray'} role="status">
          {run.detail}
        </Alert>
      )}
      {isOpen && <OverallProgress run={run} />}
      {isOpen && <ScenarioParts run={run} />}
      {run.baseline_detail && (
        <Alert color="gray" role="note">
          {run.baseline_detail}
        </Alert>
      )}
      {!isOpen && <BaselineSelect run={run} baseline={baseline} onBaseline={onBaseline} />}
      <ScenarioResult result={run.result} />
      {!isOpen && <ScenarioParts run={run} />}
    </div>
  );
}

function Origin({ run }: { run: ScenarioRun }) {
  const seconds = runSeconds(run);
  const nodes = run.load_nodes.map((uid) => `node ${uid}`).join(', ');
  return (
    <p className={classes.origin}>
      Document {run.document}, at {scaleText(run.scale)}
      {nodes && `, load from ${nodes}`}. Started by {run.originator} <Ago time={run.created_time} />
      {seconds !== undefined && `, took ${duration(seconds)}`}.{' '}
      {run.keep ? 'The databases are kept.' : 'The databases are deleted after each part.'}
    </p>
  );
}

const REPORTS = [
  { format: 'html', label: 'Web page' },
  { format: 'markdown', label: 'Markdown' },
  { format: 'csv', label: 'CSV' },
  { format: 'json', label: 'JSON' },
] as const;

type DialogName = 'stop' | 'delete' | 'again';

function RunHeader(props: Props & { run: ScenarioRun; isOpen: boolean }) {
  const { run, isOpen, baseline } = props;
  const may = usePermission('create');
  const [dialog, setDialog] = useState<DialogName>();
  const title = may ? undefined : ROLE_DENIED_TEXT;
  return (
    <header className={benchmarkClasses.head}>
      <h1>{run.title}</h1>
      <Status tone={scenarioTone(run.status)} chip>
        {run.status}
      </Status>
      <div className={benchmarkClasses.actions}>
        <Menu position="bottom-end">
          <Menu.Target>
            <Button variant="default">Export</Button>
          </Menu.Target>
          <Menu.Dropdown>
            {REPORTS.map(({ format, label }) => (
              <Menu.Item
                key={format}
                component="a"
                href={scenarioReportPath(run.uid, format, baseline)}
                download
              >
                {label}
              </Menu.Item>
            ))}
          </Menu.Dropdown>
        </Menu>
        <Button variant="default" onClick={() => window.print()}>
          Print
        </Button>
        {!isOpen && may && (
          <SubmitButton variant="default" onClick={() => setDialog('again')}>
            Run again…
          </SubmitButton>
        )}
        <SubmitButton
          variant="default"
          disabled={!may}
          title={title}
          onClick={() => setDialog(isOpen ? 'stop' : 'delete')}
        >
          {isOpen ? 'Stop' : 'Delete'}
        </SubmitButton>
      </div>
      {dialog && <RunDialog {...props} dialog={dialog} onClose={() => setDialog(undefined)} />}
    </header>
  );
}

function RunDialog(props: {
  run: ScenarioRun;
  dialog: DialogName;
  onStarted: (run: ScenarioRun) => void;
  onDeleted: () => void;
  onClose: () => void;
}) {
  const { run, dialog, onStarted, onDeleted, onClose } = props;
  const client = useQueryClient();
  const refresh = () => client.invalidateQueries({ queryKey: ['scenario-runs'] });
  const { data: scenarios } = useQuery({ ...scenariosQuery, enabled: dialog === 'again' });
  if (dialog === 'stop') {
    return (
      <SubmitDialog
        title={`Stop ${run.title}?`}
        action="Stop run"
        onConfirm={async () => {
          await stopScenarioRun(run.uid);
          await refresh();
        }}
        onClose={onClose}
      >
        Results that were measured so far are kept.
        {!run.keep && ' The databases of the run are deleted.'}
      </SubmitDialog>
    );
  }
  if (dialog === 'delete') {
    return (
      <SubmitDialog
        title={`Delete ${run.title}?`}
        action="Delete run"
        severe
        onConfirm={async () => {
          await deleteScenarioRun(run.uid);
          onDeleted();
          await refresh();
        }}
        onClose={onClose}
      >
        The result tables of this run are deleted. Its databases and benchmark runs do not change.
      </SubmitDialog>
    );
  }
  const scenario = scenarios?.find(({ name }) => name === run.scenario);
  if (!scenario) return null;
  return (
    <StartScenario
      scenario={scenario}
      initialScale={run.scale}
      onStarted={(started) => {
        onClose();
        onStarted(started);
      }}
      onClose={onClose}
    />
  );
}
