// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { fireEvent, render, screen, waitFor } from '@testing-library/react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { sessionQuery } from '@/api/access/session';
import { bdbsQuery } from '@/api/databases/bdbs';
import type { Bdb, Role, Session } from '@/api/types';
import { EditRole } from './AccessDialogs';

const answered = vi.fn();

beforeEach(() => {
  vi.stubGlobal('fetch', answered);
  answered.mockImplementation(async () => Response.json({}));
});
afterEach(() => {
  answered.mockReset();
  vi.unstubAllGlobals();
});

function show(role?: Role) {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity } } });
  client.setQueryData(sessionQuery.queryKey, { role: 'admin' } as Session);
  client.setQueryData(bdbsQuery.queryKey, [
    { uid: 1, name: 'shop' },
    { uid: 2, name: 'cache' },
  ] as Bdb[]);
  render(
    <MantineProvider>
      <QueryClientProvider client={client}>
        <EditRole role={role} onClose={() => undefined} />
      </QueryClientProvider>
    </MantineProvider>,
  );
}

const sent = () => JSON.parse(answered.mock.calls[0]?.[1].body);
const pick = (management: string) =>
  fireEvent.change(screen.getByLabelText('Management role'), { target: { value: management } });

it('limits a database role to the chosen databases', async () => {
  show();
  fireEvent.change(screen.getByLabelText(/^Name/), { target: { value: 'shop team' } });
  expect(screen.queryByLabelText('Applies to')).toBeNull();
  pick('db_member');
  fireEvent.change(screen.getByLabelText('Applies to'), { target: { value: 'some' } });
  const add = screen.getByRole<HTMLButtonElement>('button', { name: 'Add role' });
  expect(add.disabled, 'an empty selection would mean all databases').toBe(true);
  fireEvent.click(screen.getByLabelText('Databases', { selector: 'input' }));
  fireEvent.click(await screen.findByRole('option', { name: 'cache', hidden: true }));
  fireEvent.click(add);
  await waitFor(() => expect(answered).toHaveBeenCalled());
  expect(sent()).toEqual({
    name: 'shop team',
    management: 'db_member',
    resources: [{ type: 'db', uids: [2] }],
  });
});

const SHOP_TEAM = {
  uid: 20,
  name: 'shop team',
  management: 'db_viewer',
  resources: [{ type: 'db' as const, uids: [1, 7] }],
};

it('keeps a deleted database in the selection', async () => {
  show(SHOP_TEAM);
  screen.getByText('database 7 (deleted)');
  screen.getByText('shop');
  fireEvent.click(screen.getByRole('button', { name: 'Save' }));
  await waitFor(() => expect(answered).toHaveBeenCalled());
  const { name, management, resources } = SHOP_TEAM;
  expect(sent()).toEqual({ name, management, resources });
});

it('does not limit roles that can view the cluster', async () => {
  show(SHOP_TEAM);
  pick('cluster_viewer');
  fireEvent.click(screen.getByRole('button', { name: 'Save' }));
  await waitFor(() => expect(answered).toHaveBeenCalled());
  expect(sent()).toEqual({ name: 'shop team', management: 'cluster_viewer', resources: [] });
});
