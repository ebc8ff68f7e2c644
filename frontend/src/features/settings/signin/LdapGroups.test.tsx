// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { fireEvent, render, screen, waitFor, within } from '@testing-library/react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { LdapMapping, Role } from '@/api/types';
import { LdapGroups } from './LdapGroups';

const answered = vi.fn();
const ROLES: Role[] = [
  { uid: 1, name: 'Admin', management: 'admin', resources: [] },
  { uid: 5, name: 'DB Viewer', management: 'db_viewer', resources: [] },
];
const DBA: LdapMapping = {
  uid: 3,
  name: 'Administrators',
  role: 'admin',
  dn: 'cn=dba,ou=groups,dc=example,dc=org',
  role_uids: [1],
  email: '',
};

beforeEach(() => {
  vi.stubGlobal('fetch', answered);
});
afterEach(() => {
  answered.mockReset();
  vi.unstubAllGlobals();
});

async function show(mappings: LdapMapping[]) {
  answered.mockImplementation(async () => Response.json(mappings));
  render(
    <MantineProvider>
      <QueryClientProvider client={new QueryClient()}>
        <LdapGroups roles={ROLES} />
      </QueryClientProvider>
    </MantineProvider>,
  );
  await waitFor(() => expect(answered).toHaveBeenCalled());
}

const sentRequest = async () => {
  await waitFor(() =>
    expect(answered.mock.calls.some(([, { method }]) => method !== 'GET')).toBe(true),
  );
  const [path, { method, body }] =
    answered.mock.calls.find(([, init]) => init.method !== 'GET') ?? [];
  return { path, method, body: body && JSON.parse(body) };
};

it('warns that users cannot sign in while no group has a role, and adds a group', async () => {
  await show([]);
  await screen.findByText(/No group has a role yet/);
  fireEvent.click(screen.getByRole('button', { name: 'Add group…' }));
  const dialog = within(await screen.findByRole('dialog'));
  expect(dialog.getByRole<HTMLButtonElement>('button', { name: 'Add' }).disabled).toBe(true);
  fireEvent.change(dialog.getByLabelText(/^Name/), { target: { value: ' Readers ' } });
  fireEvent.change(dialog.getByLabelText(/^DN/), { target: { value: 'cn=readers,dc=org' } });
  fireEvent.change(dialog.getByLabelText(/^Role/), { target: { value: '5' } });
  fireEvent.click(dialog.getByRole('button', { name: 'Add' }));
  expect(await sentRequest()).toEqual({
    path: '/v1/ldap_mappings',
    method: 'POST',
    body: { name: 'Readers', dn: 'cn=readers,dc=org', role_uids: [5] },
  });
});

it('shows the role of a group and removes the group', async () => {
  await show([DBA]);
  const row = within((await screen.findByText(DBA.dn)).closest('tr') as HTMLElement);
  expect(row.getByText('Admin')).toBeDefined();
  fireEvent.click(row.getByRole('button', { name: 'Actions for Administrators' }));
  fireEvent.click(await screen.findByRole('menuitem', { name: 'Remove…' }));
  const dialog = within(await screen.findByRole('dialog'));
  expect(dialog.getByText(/no longer grants the role Admin/)).toBeDefined();
  fireEvent.click(dialog.getByRole('button', { name: 'Remove' }));
  expect(await sentRequest()).toMatchObject({ path: '/v1/ldap_mappings/3', method: 'DELETE' });
});
