/** Table of running and finished actions with their results. */
import { SegmentedControl } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useMemo } from 'react';
import { actionsQuery, isRunning } from '@/api/cluster/actions';
import { messageOf } from '@/api/http';
import type { Action } from '@/api/types';
import { formatPreciseDuration } from '@/lib/time';
import { Elapsed, Stamp } from '@/ui/Ago';
import { Bar } from '@/ui/Bar';
import { Card } from '@/ui/Card';
import { Dash } from '@/ui/Dash';
import { EmptyState } from '@/ui/EmptyState';
import { Status } from '@/ui/Status';
import { type Column, DataTable } from '@/ui/table/DataTable';
import { TextFilter } from '@/ui/table/TextFilter';
import { CancelAction } from './ActionProgress';
import { type ActionFilter, filterActions, resultText, timelineSpan } from './actionLog';
import classes from './actions.module.css';
import { actionTitle, actionTone } from './recentActions';
import { etaText } from './steps';

const STATUS_LABELS: Record<Action['status'], string> = {
  queued: 'Queued',
  running: 'Running',
  completed: 'Completed',
  failed: 'Failed',
  cancelled: 'Canceled',
};

const COLUMNS: readonly Column<Action>[] = [
  {
    id: 'action',
    header: 'Action',
    cell: (action) => (
      <span className={classes.wrap}>
        <Link to="/activity/timeline" search={timelineSpan(action)} title="Show on the timeline">
          {actionTitle(action)}
        </Link>
      </span>
    ),
  },
  {
    id: 'status',
    header: 'Status',
    width: 120,
    sort: ({ status }) => STATUS_LABELS[status],
    cell: (action) => <Status tone={actionTone(action)}>{STATUS_LABELS[action.status]}</Status>,
  },
  { id: 'result', header: 'Progress and result', cell: (action) => <Result action={action} /> },
  {
    id: 'originator',
    header: 'Requested by',
    sort: ({ originator }) => originator,
    cell: ({ originator }) => originator || <Dash reason="Not requested by a user" />,
  },
  {
    id: 'started',
    header: 'Started',
    sort: ({ creation_time }) => creation_time,
    descendingFirst: true,
    cell: ({ creation_time }) => <Stamp time={new Date(creation_time * 1000).toISOString()} />,
  },
  {
    id: 'duration',
    header: 'Duration',
    align: 'right',
    sort: ({ creation_time, finish_time }) =>
      finish_time === undefined ? Number.NaN : finish_time - creation_time,
    cell: ({ creation_time, finish_time }) =>
      finish_time === undefined ? (
        <Elapsed since={creation_time * 1000} />
      ) : (
        <span className="num">{formatPreciseDuration(finish_time - creation_time)}</span>
      ),
  },
];

function Result({ action }: { action: Action }) {
  if (!isRunning(action)) return <span className={classes.wrap}>{resultText(action)}</span>;
  return (
    <span className={classes.line}>
      <span className={classes.meter}>
        <Bar value={action.progress / 100} label={actionTitle(action)} />
      </span>
      <span className="num">{Math.round(action.progress)}%</span>
      <span className="num dim">{etaText(action)}</span>
      <CancelAction action={action} />
    </span>
  );
}

interface Props {
  filter: ActionFilter;
  onFilter: (change: ActionFilter) => void;
}

export function ActionLog({ filter, onFilter }: Props) {
  const { data: actions, error } = useQuery(actionsQuery);
  const rows = useMemo(() => actions && filterActions(actions, filter), [actions, filter]);
  if (error && !actions)
    return <EmptyState title="Actions could not be loaded">{messageOf(error)}</EmptyState>;
  return (
    <>
      <div className={classes.filters}>
        <TextFilter
          text={filter.text}
          onText={(text) => onFilter({ text })}
          placeholder="Action or user"
        />
        <SegmentedControl
          aria-label="Status"
          value={filter.status ?? 'all'}
          onChange={(status) =>
            onFilter({ status: status === 'running' || status === 'failed' ? status : undefined })
          }
          data={[
            { value: 'all', label: 'All' },
            { value: 'running', label: 'Running' },
            { value: 'failed', label: 'Failed' },
          ]}
        />
      </div>
      <Card flush>
        <DataTable
          label="Actions"
          columns={COLUMNS}
          rows={rows}
          rowKey={({ action_uid }) => action_uid}
          empty={
            <EmptyState title={actions?.length ? 'No matching actions' : 'No actions yet'}>
              <span>
                {actions?.length
                  ? 'Choose another status or change the text.'
                  : 'An action is a long operation, such as creating a database or moving a shard.'}
              </span>
            </EmptyState>
          }
        />
      </Card>
    </>
  );
}
