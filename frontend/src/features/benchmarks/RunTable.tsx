/** Table of all runs, newest first. Users can select runs and compare them. */
import { Button, Checkbox } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { benchmarksQuery } from '@/api/benchmarks';
import type { Benchmark } from '@/api/types';
import { Ago } from '@/ui/Ago';
import { Card } from '@/ui/Card';
import { Dash } from '@/ui/Dash';
import { EmptyState } from '@/ui/EmptyState';
import { Status } from '@/ui/Status';
import { type Column, DataTable } from '@/ui/table/DataTable';
import { RunDatabase } from './RunDatabase';
import { figureValue, measuredResult, slaStatus, toneOf } from './runText';

const MAX_COMPARED = 24;

export function RunTable() {
  const { data: runs } = useQuery(benchmarksQuery);
  const navigate = useNavigate();
  const [chosen, setChosen] = useState<readonly number[]>([]);
  const toggle = (uid: number) =>
    setChosen((now) => (now.includes(uid) ? now.filter((each) => each !== uid) : [...now, uid]));
  const columns: Column<Benchmark>[] = [
    {
      id: 'choose',
      header: '',
      width: 36,
      cell: (run) => (
        <Checkbox
          size="xs"
          aria-label={`Compare ${run.name}`}
          checked={chosen.includes(run.uid)}
          disabled={!chosen.includes(run.uid) && chosen.length >= MAX_COMPARED}
          onChange={() => toggle(run.uid)}
        />
      ),
    },
    {
      id: 'name',
      header: 'Name',
      sort: (run) => run.name,
      cell: (run) => (
        <Link to="/benchmarks/$uid" params={{ uid: String(run.uid) }}>
          {run.name}
        </Link>
      ),
    },
    {
      id: 'database',
      header: 'Database',
      sort: (run) => run.bdb_name,
      cell: (run) => <RunDatabase run={run} />,
    },
    {
      id: 'status',
      header: 'Status',
      sort: (run) => run.status,
      cell: (run) => (
        <Status tone={toneOf(run)} title={run.detail}>
          {run.status === 'running' ? `running, ${Math.floor(run.progress)}%` : run.status}
        </Status>
      ),
    },
    ...(['ops_per_second', 'average_ms', 'p99_ms'] as const).map(
      (name): Column<Benchmark> => ({
        id: name,
        header: { ops_per_second: 'Throughput', average_ms: 'Average', p99_ms: 'P99' }[name],
        align: 'right',
        sort: (run) => measuredResult(run)?.[name] ?? -1,
        cell: (run) => figureValue(name, measuredResult(run)?.[name]),
      }),
    ),
    {
      id: 'sla',
      header: 'SLA',
      cell: (run) => {
        const verdict = slaStatus(run);
        return verdict ? (
          <Status tone={verdict.tone}>{verdict.label}</Status>
        ) : (
          <Dash reason="The run has no SLA limits or has not ended" />
        );
      },
    },
    {
      id: 'when',
      header: 'Created',
      optional: true,
      sort: (run) => run.created_time,
      cell: (run) => <Ago time={run.created_time} />,
    },
    { id: 'who', header: 'Started by', optional: true, cell: (run) => run.originator },
  ];
  return (
    <>
      {chosen.length > 0 && (
        <Card>
          <Button
            disabled={chosen.length < 2}
            onClick={() =>
              navigate({ to: '/benchmarks/compare', search: { uids: chosen.join(',') } })
            }
          >
            Compare {chosen.length} runs
          </Button>{' '}
          {chosen.length < 2
            ? 'Select at least one more run. The first selected run is the baseline.'
            : 'The first selected run is the baseline.'}
        </Card>
      )}
      <Card flush>
        <DataTable
          label="Benchmarks"
          columns={columns}
          rows={runs}
          rowKey={(run) => run.uid}
          empty={
            <EmptyState title="No benchmarks yet">
              <span>
                A benchmark sends a configurable workload to a database. It shows throughput and
                latency per second, next to the metrics of the cluster.
              </span>
              <Link to="/benchmarks/new">Run a benchmark</Link>
            </EmptyState>
          }
        />
      </Card>
    </>
  );
}
