// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { cleanup, fireEvent, render, screen, waitFor } from '@testing-library/react';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { Bdb } from '@/api/types';
import { DatabasePassword } from './DatabasePassword';

let sent: unknown[];

beforeEach(() => {
  sent = [];
  vi.stubGlobal(
    'fetch',
    vi.fn(async (path: string, init: RequestInit) => {
      sent.push([init.method, path, JSON.parse(String(init.body))]);
      return Response.json({ uid: 1 });
    }),
  );
});

function show(count: number) {
  const onClose = vi.fn();
  const bdb = { uid: 1, name: 'orders', authentication: count > 0, passwords_count: count } as Bdb;
  render(
    <MantineProvider>
      <QueryClientProvider client={new QueryClient()}>
        <DatabasePassword bdb={bdb} onClose={onClose} />
      </QueryClientProvider>
    </MantineProvider>,
  );
  return onClose;
}

const type = (text: string) =>
  fireEvent.change(screen.getByLabelText(/New password/), { target: { value: text } });
const button = (name: string) => screen.getByRole('button', { name });

describe('DatabasePassword', () => {
  it('replaces the password', async () => {
    const onClose = show(1);
    expect(button('Change password').hasAttribute('disabled')).toBe(true);
    type('with space');
    expect(screen.getByText(/without spaces/)).toBeTruthy();
    type('correct-horse');
    fireEvent.click(button('Change password'));
    await waitFor(() => expect(onClose).toHaveBeenCalled());
    expect(sent).toEqual([['PUT', '/v1/bdbs/1/passwords', { password: 'correct-horse' }]]);
  });

  it('adds a password, and removes one of several', async () => {
    const closed = show(1);
    expect(screen.queryByLabelText(/^Remove one/)).toBeNull();
    fireEvent.click(screen.getByLabelText(/^The new password in addition/));
    type('correct-horse');
    fireEvent.click(button('Add password'));
    await waitFor(() => expect(closed).toHaveBeenCalled());
    cleanup();
    const again = show(2);
    expect(screen.getByText(/2\spasswords are valid now/)).toBeTruthy();
    fireEvent.click(screen.getByLabelText(/^Remove one/));
    fireEvent.change(screen.getByLabelText(/Password to remove/), { target: { value: 'old' } });
    fireEvent.click(button('Remove password'));
    await waitFor(() => expect(again).toHaveBeenCalled());
    expect(sent).toEqual([
      ['POST', '/v1/bdbs/1/passwords', { password: 'correct-horse' }],
      ['DELETE', '/v1/bdbs/1/passwords', { password: 'old' }],
    ]);
  });

  it('does not reuse a password to remove as the new password', () => {
    show(2);
    fireEvent.click(screen.getByLabelText(/^Remove one/));
    fireEvent.change(screen.getByLabelText(/Password to remove/), { target: { value: 'leaked' } });
    fireEvent.click(screen.getByLabelText(/^Only the new password/));
    expect(screen.getByLabelText(/New password/)).toHaveProperty('value', '');
    expect(button('Change password').hasAttribute('disabled')).toBe(true);
  });

  it('removes all passwords', async () => {
    const onClose = show(2);
    fireEvent.click(screen.getByLabelText(/^None/));
    fireEvent.click(button('Remove all passwords'));
    await waitFor(() => expect(onClose).toHaveBeenCalled());
    expect(sent).toEqual([['PUT', '/v1/bdbs/1', { authentication_redis_pass: '' }]]);
  });

  it('warns about the effect if no password is set', () => {
    show(0);
    expect(screen.queryByLabelText(/^None/)).toBeNull();
    expect(screen.getByText(/including connected ones, must authenticate/)).toBeTruthy();
  });
});
