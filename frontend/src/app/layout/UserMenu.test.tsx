// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { fireEvent, render, screen, waitFor } from '@testing-library/react';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { sessionQuery } from '@/api/access/session';
import type { Session } from '@/api/types';
import { UserMenu } from './UserMenu';

const navigate = vi.fn();
vi.mock('@tanstack/react-router', () => ({ useNavigate: () => navigate }));

beforeEach(() => navigate.mockClear());

async function signOut(reply: () => Response) {
  vi.stubGlobal('fetch', async () => reply());
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity } } });
  client.setQueryData(sessionQuery.queryKey, { username: 'ann', role: 'admin' } as Session);
  render(
    <MantineProvider>
      <QueryClientProvider client={client}>
        <UserMenu />
      </QueryClientProvider>
    </MantineProvider>,
  );
  fireEvent.click(screen.getByRole('button', { name: 'User menu' }));
  fireEvent.click(await screen.findByText('Sign out'));
}

describe('UserMenu', () => {
  it('opens the sign-in page after the session was ended', async () => {
    await signOut(() => Response.json({}));
    await waitFor(() => expect(navigate).toHaveBeenCalledWith({ to: '/login' }));
  });

  it('opens the sign-in page if the session has already ended', async () => {
    await signOut(() => Response.json({ description: 'Log in first.' }, { status: 401 }));
    await waitFor(() => expect(navigate).toHaveBeenCalledWith({ to: '/login' }));
  });

  it('reports that the session could not be ended', async () => {
    await signOut(() =>
      Response.json({ description: 'The store does not answer.' }, { status: 503 }),
    );
    expect(await screen.findByText(/You are still signed in/)).toBeTruthy();
    expect(screen.getByText(/The store does not answer/)).toBeTruthy();
    expect(navigate).not.toHaveBeenCalled();
  });
});
