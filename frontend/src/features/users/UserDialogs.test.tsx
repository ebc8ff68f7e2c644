// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { fireEvent, render, screen, waitFor } from '@testing-library/react';
import type { ReactElement } from 'react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { rolesQuery } from '@/api/access/roles';
import { sessionQuery } from '@/api/access/session';
import type { Session, User } from '@/api/types';
import { AddUser, ChangeUser, OwnPassword } from './UserDialogs';

const SESSION: Session = {
  uid: 1,
  username: 'admin@example.org',
  role: 'admin',
  bdbs: null,
  auth_method: 'regular',
  cluster_name: 'here',
  version: '1',
  second_factor: false,
  second_factor_required: false,
  password_expires_at: null,
};
const ADMIN = {
  uid: 1,
  email: SESSION.username,
  name: 'Ada',
  role: 'admin',
  role_uids: [1],
  auth_method: 'regular',
} as User;
const answered = vi.fn();

beforeEach(() => vi.stubGlobal('fetch', answered));
afterEach(() => {
  answered.mockReset();
  vi.unstubAllGlobals();
});

function open(dialog: ReactElement, session = SESSION) {
  const client = new QueryClient({
    defaultOptions: { queries: { retry: false, staleTime: Infinity } },
  });
  client.setQueryData(sessionQuery.queryKey, session);
  client.setQueryData(rolesQuery.queryKey, [
    { uid: 17, name: 'readers', management: 'none', resources: [] },
  ]);
  render(
    <MantineProvider>
      <QueryClientProvider client={client}>{dialog}</QueryClientProvider>
    </MantineProvider>,
  );
  return client;
}

const button = (name: string) => screen.getByRole<HTMLButtonElement>('button', { name });
const type = (label: RegExp, value: string) =>
  fireEvent.change(screen.getByLabelText(label), { target: { value } });
const sent = () =>
  answered.mock.calls.map(([path, { method, body } = {}]) => [
    method,
    path,
    body && JSON.parse(body),
  ]);

describe('AddUser', () => {
  it('adds a viewer by default, and shows why a user was refused', async () => {
    answered.mockImplementation(async () =>
      Response.json({ description: 'There is a user ann already.' }, { status: 409 }),
    );
    const onClose = vi.fn();
    open(<AddUser onClose={onClose} />);
    expect(button('Add user').disabled).toBe(true);
    type(/Username/, 'ann');
    fireEvent.click(button('Generate'));
    fireEvent.click(button('Add user'));
    expect(await screen.findByText('There is a user ann already.')).toBeTruthy();
    expect(onClose).not.toHaveBeenCalled();
    expect(sent().filter(([method]) => method !== 'GET')).toEqual([
      [
        'POST',
        '/v1/users',
        {
          email: 'ann',
          name: '',
          password: expect.stringMatching(/^[\w.!-]{20}$/),
          role: 'db_viewer',
        },
      ],
    ]);
  });

  it('does not offer the administrator role to user managers', () => {
    open(<AddUser onClose={vi.fn()} />, { ...SESSION, role: 'user_manager' });
    expect(screen.queryByLabelText(/^Administrator/)).toBeNull();
    expect(screen.getByLabelText(/^User manager/)).toBeTruthy();
  });
});

describe('ChangeUser', () => {
  it('sends only changes, and does not change the role of the last administrator', async () => {
    answered.mockImplementation(async () => Response.json([ADMIN]));
    const onClose = vi.fn();
    open(<ChangeUser user={ADMIN} onClose={onClose} />);
    expect(await screen.findByText(/last administrator/)).toBeTruthy();
    expect(screen.getByLabelText<HTMLInputElement>(/^Database viewer/).disabled).toBe(true);
    expect(button('Save').disabled).toBe(true);
    type(/Name/, 'Ada L.');
    fireEvent.click(button('Save'));
    await waitFor(() => expect(onClose).toHaveBeenCalled());
    expect(sent()).toContainEqual(['PUT', '/v1/users/1', { name: 'Ada L.' }]);
  });
});

describe('OwnPassword', () => {
  it('requires the password twice and keeps the session', async () => {
    answered.mockImplementation(async () => Response.json(ADMIN));
    const onClose = vi.fn();
    open(<OwnPassword session={SESSION} onClose={onClose} />);
    type(/New password/, 'a long one');
    type(/Repeat password/, 'a long on');
    expect(await screen.findByText('The passwords do not match')).toBeTruthy();
    expect(button('Change password').disabled).toBe(true);
    type(/Repeat password/, 'a long one');
    fireEvent.click(button('Change password'));
    await waitFor(() => expect(onClose).toHaveBeenCalled());
    expect(sent()).toEqual([['PUT', '/v1/users/1', { password: 'a long one' }]]);
  });
});
