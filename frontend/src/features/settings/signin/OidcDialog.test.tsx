// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { fireEvent, render, screen, waitFor, within } from '@testing-library/react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { oidcQuery, ssoStatusQuery } from '@/api/access/sso';
import type { OidcSettings, Role } from '@/api/types';
import { OidcDialog } from './OidcDialog';
import { STORED_OIDC } from './oidcSettings.fixture';

const answered = vi.fn();
const closed = vi.fn();
let client: QueryClient;
const ROLES: Role[] = [
  { uid: 1, name: 'Admin', management: 'admin', resources: [] },
  { uid: 5, name: 'DB Viewer', management: 'db_viewer', resources: [] },
];

beforeEach(() => {
  client = new QueryClient();
  client.setQueryData(oidcQuery.queryKey, STORED_OIDC);
  client.setQueryData(ssoStatusQuery.queryKey, { name: 'Example' });
  vi.stubGlobal('fetch', answered);
  answered.mockImplementation(async () => Response.json(STORED_OIDC));
});
afterEach(() => {
  answered.mockReset();
  closed.mockReset();
  vi.unstubAllGlobals();
});

function show(stored: OidcSettings | null) {
  render(
    <MantineProvider>
      <QueryClientProvider client={client}>
        <OidcDialog stored={stored} roles={ROLES} onClose={closed} />
      </QueryClientProvider>
    </MantineProvider>,
  );
}

const type = (label: RegExp | string, value: string) =>
  fireEvent.change(screen.getByLabelText(label), { target: { value } });
const save = async () => {
  fireEvent.click(screen.getByRole('button', { name: 'Save' }));
  await waitFor(() => expect(answered).toHaveBeenCalled());
  return JSON.parse(answered.mock.calls[0]?.[1].body);
};

it('configures a provider with groups and their roles', async () => {
  show(null);
  expect(screen.getByRole<HTMLButtonElement>('button', { name: 'Save' }).disabled).toBe(true);
  type(/^Issuer/, 'https://login.example.org');
  type(/^Client ID/, 'shardboard');
  type(/^Client secret/, 's3cret');
  fireEvent.click(screen.getByRole('button', { name: 'Add group' }));
  fireEvent.click(screen.getByRole('button', { name: 'Add group' }));
  const [first] = screen.getAllByLabelText('Group');
  fireEvent.change(first as HTMLElement, { target: { value: ' dba ' } });
  type('Role of dba', '1');
  const sent = await save();
  expect(sent).toMatchObject({
    enabled: true,
    issuer: 'https://login.example.org',
    client_id: 'shardboard',
    client_secret: 's3cret',
    username_claim: 'email',
    roles: [{ group: 'dba', role_uid: 1 }],
    default_role_uid: null,
  });
});

it('requires a secret or a public client', async () => {
  show(STORED_OIDC);
  const save = () => screen.getByRole<HTMLButtonElement>('button', { name: 'Save' });
  expect(save().disabled).toBe(false);
  screen.getByText('If empty, the current secret is kept');
  type(/^Client ID/, 'another');
  expect(screen.queryByText(/current secret is kept/)).toBeNull();
  expect(save().disabled, 'the stored secret is not used for another client').toBe(true);
  fireEvent.click(screen.getByLabelText(/^No secret/));
  expect(save().disabled).toBe(false);
  fireEvent.click(save());
  await waitFor(() => expect(answered).toHaveBeenCalled());
  expect(JSON.parse(answered.mock.calls[0]?.[1].body)).toMatchObject({ client_secret: '' });
});

it('keeps unchanged settings, including the secret', async () => {
  show(STORED_OIDC);
  const groups = within(screen.getByRole('group', { name: 'Groups and their roles' }));
  fireEvent.click(groups.getByRole('button', { name: 'Remove dba' }));
  fireEvent.click(screen.getByRole('switch'));
  const { has_client_secret, redirect_uri, ...rest } = STORED_OIDC;
  expect(await save()).toEqual({ ...rest, enabled: false, roles: [] });
});

it('does not send a secret that was entered before the client became public', async () => {
  show(null);
  type(/^Issuer/, 'https://login.example.org');
  type(/^Client ID/, 'shardboard');
  type(/^Client secret/, 's3cret');
  fireEvent.click(screen.getByLabelText(/^No secret/));
  const secret = screen.getByLabelText<HTMLInputElement>(/^Client secret/);
  expect([secret.disabled, secret.value]).toEqual([true, '']);
  expect(await save()).toMatchObject({ client_secret: '' });
});

it('has a role for users in none of the groups', async () => {
  show({ ...STORED_OIDC, roles: [], default_role_uid: null });
  type('All users', '5');
  fireEvent.click(screen.getByRole('button', { name: 'Add group' }));
  type('Group', 'dba');
  expect(screen.getByLabelText<HTMLSelectElement>('Users in none of these groups').value).toBe('5');
  expect(await save()).toMatchObject({
    roles: [{ group: 'dba', role_uid: 1 }],
    default_role_uid: 5,
  });
});

it('shows why the console refused the provider, and stays open', async () => {
  answered.mockImplementation(async () =>
    Response.json({ error_code: 'x', description: 'The provider sent 404.' }, { status: 400 }),
  );
  show(STORED_OIDC);
  await save();
  expect((await screen.findByRole('alert')).textContent).toBe('The provider sent 404.');
  expect(closed).not.toHaveBeenCalled();
});

it('closes and reloads the provider after it is saved', async () => {
  show(STORED_OIDC);
  await save();
  await waitFor(() => expect(closed).toHaveBeenCalled());
  for (const { queryKey } of [oidcQuery, ssoStatusQuery])
    expect(client.getQueryState(queryKey)?.isInvalidated).toBe(true);
});
