// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { fireEvent, render, screen, waitFor } from '@testing-library/react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { ldapQuery } from '@/api/access/ldap';
import type { LdapSettings } from '@/api/types';
import { LdapDialog } from './LdapDialog';

const answered = vi.fn();
const closed = vi.fn();
let client: QueryClient;
const NONE: LdapSettings = {
  uris: [],
  control_plane: false,
  data_plane: false,
  cba: false,
  starttls: false,
  ca_cert: '',
  bind_dn: '',
  bind_pass: '',
  directory_timeout_s: 5,
  cache_ttl: 300,
  user_dn_template: '',
  dn_group_attr: '',
};
const BEFORE: LdapSettings = {
  ...NONE,
  uris: ['ldaps://one.example.org', 'ldaps://two.example.org:1636'],
  control_plane: true,
  bind_dn: 'cn=reader,dc=example,dc=org',
  bind_pass: '***',
  cache_ttl: 60,
  user_dn_template: 'uid=%u,ou=people,dc=example,dc=org',
  dn_group_query: { base: 'ou=groups,dc=example,dc=org', filter: '(member=%D)', scope: 'one' },
};

beforeEach(() => {
  client = new QueryClient();
  client.setQueryData(ldapQuery.queryKey, BEFORE);
  vi.stubGlobal('fetch', answered);
  answered.mockImplementation(async () => Response.json(BEFORE));
});
afterEach(() => {
  answered.mockReset();
  closed.mockReset();
  vi.unstubAllGlobals();
});

function show(stored: LdapSettings) {
  render(
    <MantineProvider>
      <QueryClientProvider client={client}>
        <LdapDialog stored={stored} onClose={closed} />
      </QueryClientProvider>
    </MantineProvider>,
  );
}

const type = (label: RegExp | string, value: string) =>
  fireEvent.change(screen.getByLabelText(label), { target: { value } });
const button = () => screen.getByRole<HTMLButtonElement>('button', { name: 'Save' });
const save = async () => {
  fireEvent.click(button());
  await waitFor(() => expect(answered).toHaveBeenCalled());
  return JSON.parse(answered.mock.calls[0]?.[1].body);
};

it('configures a directory with searches', async () => {
  show(NONE);
  expect(button().disabled).toBe(true);
  type(/^Servers/, 'ldap://one.example.org\nldap://two.example.org ');
  expect(screen.getByText(/directory unencrypted/)).toBeDefined();
  fireEvent.click(screen.getByLabelText(/^StartTLS/));
  expect(screen.queryByText(/directory unencrypted/)).toBeNull();
  type(/^Search as/, 'cn=reader,dc=example,dc=org');
  expect(button().disabled, 'a search user without a password').toBe(true);
  type(/^Password of the search user/, 's3cret');
  type(/^Search base for users/, 'ou=people,dc=example,dc=org');
  type(/^Search base for groups/, 'ou=groups,dc=example,dc=org');
  type(/^Search scope for groups/, 'one');
  expect(await save()).toEqual({
    control_plane: true,
    uris: ['ldap://one.example.org', 'ldap://two.example.org'],
    starttls: true,
    ca_cert: '',
    bind_dn: 'cn=reader,dc=example,dc=org',
    bind_pass: 's3cret',
    directory_timeout_s: 5,
    cache_ttl: 300,
    user_dn_query: {
      base: 'ou=people,dc=example,dc=org',
      filter: '(&(objectClass=inetOrgPerson)(uid=%u))',
    },
    dn_group_query: {
      base: 'ou=groups,dc=example,dc=org',
      filter: '(&(objectClass=groupOfNames)(member=%D))',
      scope: 'one',
    },
  });
});

it('keeps unchanged settings, including the password', async () => {
  show(BEFORE);
  fireEvent.click(screen.getByRole('switch'));
  type(/^Find groups/, 'attribute');
  type(/^Attribute/, 'memberOf');
  expect(await save()).toEqual({
    control_plane: false,
    uris: BEFORE.uris,
    starttls: false,
    ca_cert: '',
    bind_dn: BEFORE.bind_dn,
    directory_timeout_s: 5,
    cache_ttl: 60,
    user_dn_template: BEFORE.user_dn_template,
    dn_group_attr: 'memberOf',
  });
});

it('requires the password again for another server', async () => {
  show(BEFORE);
  screen.getByText('If empty, the current password is kept');
  type(/^Servers/, 'ldaps://three.example.org');
  expect(screen.queryByText(/current password is kept/)).toBeNull();
  expect(button().disabled).toBe(true);
  type(/^Password of the search user/, 'again');
  expect(await save()).toMatchObject({ bind_pass: 'again' });
});

it('clears the password for anonymous searches', async () => {
  show(BEFORE);
  type(/^Search as/, '');
  expect(await save()).toMatchObject({ bind_dn: '', bind_pass: '' });
});

it('sends durations as numbers, and the CA', async () => {
  show(BEFORE);
  type(/^Timeout per server/, '30');
  type(/^Cache correct passwords for/, '0');
  type(/^CA of the server certificates/, 'PEM');
  type(/^Password of the search user/, 's3cret');
  expect(await save()).toMatchObject({ directory_timeout_s: 30, cache_ttl: 0, ca_cert: 'PEM' });
});

it('shows why the console refused the settings, and stays open', async () => {
  answered.mockImplementation(async () =>
    Response.json({ error_code: 'x', description: 'The bind failed.' }, { status: 400 }),
  );
  show(BEFORE);
  await save();
  expect((await screen.findByRole('alert')).textContent).toBe('The bind failed.');
  expect(closed).not.toHaveBeenCalled();
});

it('closes and reloads the settings after they are saved', async () => {
  show(BEFORE);
  await save();
  await waitFor(() => expect(closed).toHaveBeenCalled());
  expect(client.getQueryState(ldapQuery.queryKey)?.isInvalidated).toBe(true);
});
