// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { cleanup, fireEvent, render, screen, waitFor } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { sessionQuery } from '@/api/access/session';
import type { Session, User } from '@/api/types';
import { NewPassword } from './NewPassword';

const answered = vi.fn();

beforeEach(() => vi.stubGlobal('fetch', answered));
afterEach(() => {
  answered.mockReset();
  vi.unstubAllGlobals();
});

function open(count: number, role = 'admin') {
  const onClose = vi.fn();
  const client = new QueryClient();
  client.setQueryData(sessionQuery.queryKey, { role } as Session);
  const user = { uid: 2, email: 'ann', status: 'active', passwords_count: count } as User;
  answered.mockImplementation(async () => Response.json({}));
  render(
    <MantineProvider>
      <QueryClientProvider client={client}>
        <NewPassword user={user} onClose={onClose} />
      </QueryClientProvider>
    </MantineProvider>,
  );
  return async (label: RegExp, password: string, action: string) => {
    fireEvent.change(screen.getByLabelText(label), { target: { value: password } });
    fireEvent.click(screen.getByRole('button', { name: action }));
    await waitFor(() => expect(onClose).toHaveBeenCalled());
    const [path, { method, body }] = answered.mock.calls[0] ?? [];
    return [method, path, JSON.parse(body)];
  };
}

describe('NewPassword', () => {
  it('replaces all passwords', async () => {
    const send = open(1);
    expect(screen.queryByLabelText(/^Remove one password/)).toBeNull();
    expect(await send(/New password/, 'a long one', 'Set password')).toEqual([
      'PUT',
      '/v1/users/2',
      { password: 'a long one' },
    ]);
  });

  it('adds a password, and removes one of several', async () => {
    const add = open(1);
    fireEvent.click(screen.getByLabelText(/^Add the new password/));
    expect(await add(/New password/, 'a long one', 'Add password')).toEqual([
      'POST',
      '/v1/users/password',
      { username: 'ann', new_password: 'a long one' },
    ]);
    cleanup();
    answered.mockReset();
    const remove = open(2);
    expect(screen.getByText(/2\spasswords are valid now/)).toBeTruthy();
    fireEvent.click(screen.getByLabelText(/^Remove one password/));
    expect(await remove(/Password to remove/, 'old', 'Remove password')).toEqual([
      'DELETE',
      '/v1/users/password',
      { username: 'ann', old_password: 'old' },
    ]);
  });

  it('lets user managers only replace passwords', () => {
    open(2, 'user_manager');
    expect(screen.queryByRole('radio')).toBeNull();
  });
});
