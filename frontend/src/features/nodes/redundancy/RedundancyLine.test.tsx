// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { render, screen, waitFor } from '@testing-library/react';
import { expect, it, vi } from 'vitest';
import { sessionQuery } from '@/api/access/session';
import type { Session } from '@/api/types';
import { RedundancyLine } from './RedundancyLine';

vi.mock('@tanstack/react-router', () => ({
  Link: ({ children }: { children: React.ReactNode }) => <a href="/nodes">{children}</a>,
}));

const LOSS = { nodes: [1], rack_id: '', is_largest: true, effect: 'none', description: '' };

function show(role: string) {
  let survives = true;
  const fetched = vi.fn(async () =>
    Response.json({ losses: [LOSS], survives_node: survives, survives_zone: null }),
  );
  vi.stubGlobal('fetch', fetched);
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity } } });
  client.setQueryData(sessionQuery.queryKey, { role } as Session);
  const line = (version: string) => (
    <MantineProvider>
      <QueryClientProvider client={client}>
        <RedundancyLine version={version} />
      </QueryClientProvider>
    </MantineProvider>
  );
  const { rerender } = render(line(''));
  const change = () => {
    survives = false;
    rerender(line('2 replicas of demo are not in sync'));
  };
  return { fetched, change };
}

it('is updated as soon as the state of the cluster changes', async () => {
  const { change } = show('admin');
  expect(await screen.findByText(/any one node is lost, all data stays/)).toBeTruthy();
  change();
  expect(await screen.findByText(/some nodes are lost, data becomes/)).toBeTruthy();
});

it('sends no request if the role does not allow it', async () => {
  const { fetched, change } = show('none');
  change();
  await waitFor(() => expect(screen.queryByText(/lost/)).toBeNull());
  expect(fetched).not.toHaveBeenCalled();
});
