// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { fireEvent, render, screen, waitFor } from '@testing-library/react';
import { describe, expect, it, vi } from 'vitest';
import { aclsQuery, rolesQuery } from '@/api/access/roles';
import type { Bdb } from '@/api/types';
import { DataAccess } from './DataAccess';

const bdb = {
  uid: 7,
  name: 'orders',
  default_user: false,
  roles_permissions: [{ role_uid: 5, redis_acl_uid: 2 }],
} as unknown as Bdb;

function show(reply: Response) {
  const fetched = vi.fn(async (_path: string, _init: RequestInit) => reply);
  vi.stubGlobal('fetch', fetched);
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity } } });
  client.setQueryData(rolesQuery.queryKey, [
    { uid: 5, name: 'DB Viewer', management: 'db_viewer', resources: [] },
    { uid: 17, name: 'readers', management: 'none', resources: [] },
  ]);
  client.setQueryData(aclsQuery.queryKey, [
    { uid: 1, name: 'Full Access', acl: '+@all ~*' },
    { uid: 2, name: 'Read Only', acl: '+@read ~*' },
  ]);
  const onClose = vi.fn();
  render(
    <MantineProvider>
      <QueryClientProvider client={client}>
        <DataAccess bdb={bdb} onClose={onClose} />
      </QueryClientProvider>
    </MantineProvider>,
  );
  return { fetched, onClose };
}

const button = (name: string) => screen.getByRole('button', { name });

describe('DataAccess', () => {
  it('adds each role at most once, and removes roles', async () => {
    const { fetched, onClose } = show(Response.json(bdb));
    expect(screen.getByText(/Other users cannot authenticate/)).toBeTruthy();
    expect(button('Save').hasAttribute('disabled')).toBe(true);
    fireEvent.click(button('Add role'));
    expect(button('Add role').hasAttribute('disabled')).toBe(true);
    const [, second] = screen.getAllByRole('combobox', { name: 'Rules' });
    fireEvent.change(second as HTMLElement, { target: { value: '2' } });
    fireEvent.click(screen.getAllByRole('button', { name: 'Remove this role' })[0] as HTMLElement);
    fireEvent.click(button('Save'));
    await waitFor(() => expect(onClose).toHaveBeenCalled());
    const [path, init] = fetched.mock.calls[0] ?? [];
    expect([path, JSON.parse(String(init?.body))]).toEqual([
      '/v1/bdbs/7',
      { roles_permissions: [{ role_uid: 17, redis_acl_uid: 2 }] },
    ]);
  });

  it('shows the error of the console and keeps the selection', async () => {
    const body = { error_code: 'busy', description: 'Database orders is changing.' };
    show(Response.json(body, { status: 409 }));
    fireEvent.click(button('Add role'));
    fireEvent.click(button('Save'));
    expect(await screen.findByText('Database orders is changing.')).toBeTruthy();
    expect(screen.getAllByRole('combobox', { name: 'Role' })).toHaveLength(2);
  });
});
