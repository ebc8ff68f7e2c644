// @vitest-environment jsdom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { fireEvent, render, screen, waitFor } from '@testing-library/react';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { Bdb } from '@/api/types';
import { DatabasePassword } from './DatabasePassword';

let sent: unknown[];

beforeEach(() => {
  sent = [];
  vi.stubGlobal(
    'fetch',
    vi.fn(async (_path: string, init: RequestInit) => {
      sent.push(JSON.parse(String(init.body)));
      return Response.json({ uid: 1 });
    }),
  );
});

function show(authentication: boolean) {
  const onClose = vi.fn();
  render(
    <MantineProvider>
      <QueryClientProvider client={new QueryClient()}>
        <DatabasePassword
          bdb={{ uid: 1, name: 'orders', authentication } as Bdb}
          onClose={onClose}
        />
      </QueryClientProvider>
    </MantineProvider>,
  );
  return onClose;
}

const type = (text: string) =>
  fireEvent.change(screen.getByLabelText(/New password/), { target: { value: text } });
const button = (name: string) => screen.getByRole('button', { name });

describe('DatabasePassword', () => {
  it('sends a new one', async () => {
    const onClose = show(true);
    expect(button('Change the password').hasAttribute('disabled')).toBe(true);
    type('with space');
    expect(screen.getByText(/no spaces/)).toBeTruthy();
    type('correct-horse');
    fireEvent.click(button('Change the password'));
    await waitFor(() => expect(onClose).toHaveBeenCalled());
    expect(sent).toEqual([{ authentication_redis_pass: 'correct-horse' }]);
  });

  it('removes it', async () => {
    const onClose = show(true);
    fireEvent.click(screen.getByLabelText(/^No password/));
    fireEvent.click(button('Remove the password'));
    await waitFor(() => expect(onClose).toHaveBeenCalled());
    expect(sent).toEqual([{ authentication_redis_pass: '' }]);
  });

  it('warns where there is none', () => {
    show(false);
    expect(screen.queryByLabelText(/^No password/)).toBeNull();
    expect(screen.getByText(/all of them need the password from now on/)).toBeTruthy();
  });
});
