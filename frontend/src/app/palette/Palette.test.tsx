// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { render, screen, waitFor } from '@testing-library/react';
import userEvent from '@testing-library/user-event';
import { useState } from 'react';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { sessionQuery } from '@/api/access/session';
import { benchmarksQuery } from '@/api/benchmarks';
import { nodesQuery } from '@/api/cluster/nodes';
import { bdbsQuery } from '@/api/databases/bdbs';
import { shardsQuery } from '@/api/databases/shards';
import { incidentsQuery } from '@/api/failures/incidents';
import type { Bdb, Node, Session } from '@/api/types';
import { Palette } from './Palette';

const navigate = vi.hoisted(() => vi.fn());
vi.mock('@tanstack/react-router', () => ({ useNavigate: () => navigate, Link: () => null }));

function Page() {
  const [open, setOpen] = useState(false);
  return (
    <>
      <button type="button" onClick={() => setOpen(true)}>
        Search
      </button>
      {open && <Palette onClose={() => setOpen(false)} />}
    </>
  );
}

async function openPalette(role = 'admin') {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity } } });
  client.setQueryData(sessionQuery.queryKey, { role } as Session);
  client.setQueryData(bdbsQuery.queryKey, [{ uid: 1, name: 'demo', status: 'active' }] as Bdb[]);
  client.setQueryData(nodesQuery.queryKey, [{ uid: 2, addr: '10.0.0.2' }] as Node[]);
  client.setQueryData(shardsQuery.queryKey, []);
  client.setQueryData(benchmarksQuery.queryKey, []);
  client.setQueryData(incidentsQuery.queryKey, []);
  client.setQueryData(['incidents-past'], []);
  vi.stubGlobal(
    'fetch',
    vi.fn(async () => Response.json([])),
  );
  const user = userEvent.setup();
  render(
    <MantineProvider env="test">
      <QueryClientProvider client={client}>
        <Page />
      </QueryClientProvider>
    </MantineProvider>,
  );
  await user.click(screen.getByRole('button', { name: 'Search' }));
  return { user, field: await screen.findByRole('combobox') };
}

const selected = () => screen.getByRole('option', { selected: true });

describe('the command palette', () => {
  beforeEach(() => {
    navigate.mockReset();
    localStorage.clear();
  });

  it('selects with the arrow keys, opens with Enter, and lists the entry first next time', async () => {
    const { user, field } = await openPalette();
    expect(selected().textContent).toContain('demo');
    await user.keyboard('{ArrowDown}');
    expect(selected().textContent).toContain('node 2');
    expect(field.getAttribute('aria-activedescendant')).toBe(selected().id);
    await user.keyboard('{ArrowUp}{ArrowUp}');
    expect(selected()).toBe(screen.getAllByRole('option').at(-1));
    await user.keyboard('{ArrowDown}{ArrowDown}{Enter}');
    expect(navigate).toHaveBeenCalledWith({ to: '/nodes/$uid', params: { uid: '2' } });
    await user.click(screen.getByRole('button', { name: 'Search' }));
    await screen.findByRole('combobox');
    expect(screen.getAllByRole('option')[0]?.textContent).toContain('node 2');
  });

  it('returns the focus on Escape', async () => {
    const { user } = await openPalette();
    await user.keyboard('{Escape}');
    expect(screen.queryByRole('combobox')).toBeNull();
    const button = screen.getByRole('button', { name: 'Search' });
    await waitFor(() => expect(document.activeElement).toBe(button));
  });

  it('asks for confirmation before a destructive action', async () => {
    const { user } = await openPalette();
    await user.keyboard('stop traffic of demo{Enter}');
    const dialog = await screen.findByRole('dialog', { name: 'Stop traffic to demo?' });
    expect(dialog.textContent).toContain('All clients are disconnected');
  });

  it('offers no changes to roles that cannot make them', async () => {
    const { user } = await openPalette('db_viewer');
    await user.keyboard('traffic');
    expect(screen.queryByRole('option')).toBeNull();
    expect(screen.getByText('No matches')).toBeTruthy();
  });
});
