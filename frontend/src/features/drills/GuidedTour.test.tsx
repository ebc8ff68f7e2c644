// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { act, render, screen } from '@testing-library/react';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { sessionQuery } from '@/api/access/session';
import { actionsQuery } from '@/api/cluster/actions';
import { nodesQuery } from '@/api/cluster/nodes';
import { incidentsQuery } from '@/api/failures/incidents';
import type { Action, Incident, Session } from '@/api/types';
import { RunningTour } from './GuidedTour';
import { endTour, startTour } from './useTour';

const T0 = 1_700_000_000_000;

const drill = (part: Partial<Action>) =>
  ({
    action_uid: 'a',
    name: 'SMDrill',
    creation_time: T0 / 1000 + 1,
    status: 'failed',
    additional_info: { object_type: 'node', object_uid: 2, error: 'The agent did not respond.' },
    ...part,
  }) as Action;

vi.mock('@/live/LiveProvider', () => ({
  useLive: () => ({ ring: () => ({ read: () => new Float64Array([0, 0]) }) }),
}));
vi.mock('@tanstack/react-router', () => ({ Link: () => null }));

function renderTour(actions: Action[], incidents: Incident[] = []) {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity } } });
  client.setQueryData(actionsQuery.queryKey, actions);
  client.setQueryData(incidentsQuery.queryKey, incidents);
  client.setQueryData(sessionQuery.queryKey, { role: 'admin' } as Session);
  client.setQueryData<unknown>(nodesQuery.queryKey, [{ uid: 1, status: 'active' }]);
  client.setQueryData(['incidents-past'], []);
  startTour({ since: T0, seconds: 20 });
  render(
    <MantineProvider>
      <QueryClientProvider client={client}>
        <RunningTour />
      </QueryClientProvider>
    </MantineProvider>,
  );
}

describe('the guided tour', () => {
  afterEach(() => act(endTour));

  it('shows that the drill failed and the reason', () => {
    renderTour([drill({})]);
    const message = screen.getByRole('alert').textContent;
    expect(message).toContain('The drill failed: The agent did not respond.');
  });

  it('states which expectations were missed and why', () => {
    const outage = {
      uid: 10,
      kind: 'node_down',
      state: 'over',
      node_uid: 2,
      began_ms: T0,
      detected_ms: T0,
      returned_ms: T0 + 20_000,
      ended_ms: T0 + 30_000,
      primaries: 1,
      replicas: 0,
      failovers: [11],
      figures: [{ name: 'promoted', ms: 220, count: 1, total: 1, events: [11] }],
      resyncs: [],
      revived: 1,
      percent: 100,
      databases: [{ uid: 1, name: 'demo', unserved_ms: 74_000, promoted_after_ms: 220 }],
    } as unknown as Incident;
    renderTour([drill({ status: 'completed' })], [outage]);
    expect(screen.getAllByLabelText('done')).toHaveLength(4);
    expect(screen.getAllByLabelText('not as expected')).toHaveLength(1);
    expect(screen.getByText(/1 of 5 steps did not meet expectations/)).toBeTruthy();
    const missed = screen.getByLabelText('not as expected').closest('li')?.textContent;
    expect(missed).toContain('Clients are served again');
    expect(missed).toContain('The CPU of node 1 was 100');
  });

  it.each([
    ['is running', drill({ status: 'running' })],
    ['has not started yet', drill({ creation_time: T0 / 1000 - 60 })],
  ])('waits while its drill %s', (_, action) => {
    renderTour([action]);
    expect(screen.queryByRole('alert')).toBeNull();
    expect(screen.getByText('The node goes down')).toBeTruthy();
  });
});
