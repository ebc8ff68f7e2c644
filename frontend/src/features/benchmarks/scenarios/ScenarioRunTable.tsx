/** Table of scenario runs, newest first. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { messageOf } from '@/api/http';
import { isOpenScenarioRun, scenarioRunsQuery } from '@/api/scenarios';
import type { ScenarioRun } from '@/api/types';
import { duration } from '@/lib/time';
import { Ago } from '@/ui/Ago';
import { Dash } from '@/ui/Dash';
import { EmptyState } from '@/ui/EmptyState';
import { Status } from '@/ui/Status';
import { type Column, DataTable } from '@/ui/table/DataTable';
import classes from './scenarios.module.css';
import { runSeconds, scaleShare, scenarioTone, statusText } from './scenarioText';

const COLUMNS: readonly Column<ScenarioRun>[] = [
  {
    id: 'title',
    header: 'Scenario',
    sort: ({ title }) => title,
    cell: ({ uid, title }) => (
      <div className={classes.label}>
        <Link to="/benchmarks/scenarios/$uid" params={{ uid: String(uid) }}>
          {title}
        </Link>
      </div>
    ),
  },
  {
    id: 'status',
    header: 'Status',
    sort: ({ status }) => status,
    cell: (run) => (
      <Status tone={scenarioTone(run.status)} title={run.detail}>
        {statusText(run)}
      </Status>
    ),
  },
  {
    id: 'scale',
    header: 'Scale',
    align: 'right',
    optional: true,
    sort: ({ scale }) => scale,
    cell: ({ scale }) => <span className="num">{scaleShare(scale)}</span>,
  },
  {
    id: 'duration',
    header: 'Duration',
    align: 'right',
    optional: true,
    sort: (run) => runSeconds(run) ?? Number.NaN,
    cell: (run) => {
      const seconds = runSeconds(run);
      if (seconds !== undefined) return <span className="num">{duration(seconds)}</span>;
      return <Dash reason={isOpenScenarioRun(run) ? 'Not finished' : 'Not started'} />;
    },
  },
  {
    id: 'created',
    header: 'Created',
    optional: true,
    sort: ({ created_time }) => created_time,
    cell: ({ created_time }) => <Ago time={created_time} />,
  },
  {
    id: 'originator',
    header: 'Started by',
    optional: true,
    cell: ({ originator }) => originator,
  },
];

export function ScenarioRunTable() {
  const { data, error } = useQuery(scenarioRunsQuery);
  if (!data && error) {
    return (
      <EmptyState title="The scenario runs could not be loaded">{messageOf(error)}</EmptyState>
    );
  }
  return (
    <DataTable
      label="Scenario runs"
      columns={COLUMNS}
      rows={data}
      rowKey={({ uid }) => uid}
      empty={
        <EmptyState title="No scenario runs yet">
          Select a scenario below. Its run creates the databases, measures them, and deletes them.
        </EmptyState>
      }
    />
  );
}
