// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { act, render, screen } from '@testing-library/react';
import { afterEach, describe, expect, it } from 'vitest';
import { actionsQuery } from '@/api/cluster/actions';
import { incidentsQuery } from '@/api/failures/incidents';
import type { Action } from '@/api/types';
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

function renderTour(actions: Action[]) {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity } } });
  client.setQueryData(actionsQuery.queryKey, actions);
  client.setQueryData(incidentsQuery.queryKey, []);
  client.setQueryData(['incidents-past'], []);
  startTour(T0);
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

  it.each([
    ['is running', drill({ status: 'running' })],
    ['has not started yet', drill({ creation_time: T0 / 1000 - 60 })],
  ])('waits while its drill %s', (_, action) => {
    renderTour([action]);
    expect(screen.queryByRole('alert')).toBeNull();
    expect(screen.getByText('The node goes down')).toBeTruthy();
  });
});
