// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { render, screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import { sessionQuery } from '@/api/access/session';
import { nodesQuery } from '@/api/cluster/nodes';
import type { Session } from '@/api/types';
import { FirstSteps } from './FirstSteps';

it('suggests adding a node first in an empty cluster', () => {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity } } });
  client.setQueryData(nodesQuery.queryKey, []);
  client.setQueryData(sessionQuery.queryKey, { role: 'admin' } as Session);
  render(
    <MantineProvider>
      <QueryClientProvider client={client}>
        <FirstSteps addNode={(next) => <button type="button">Add node, {String(next)}</button>} />
      </QueryClientProvider>
    </MantineProvider>,
  );
  screen.getByText('No databases yet');
  screen.getByRole('button', { name: 'Add node, true' });
  const create = screen.getByRole<HTMLButtonElement>('button', { name: 'Create database' });
  expect(create.disabled).toBe(true);
  expect(create.title).toBe('Add a node first');
});
