// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { fireEvent, render, screen, waitFor } from '@testing-library/react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { UserSession } from '@/api/types';
import { Sessions } from './Sessions';

const SESSIONS = [3, 2, 1].map(
  (uid): UserSession => ({
    uid,
    address: `192.0.2.${uid}`,
    browser: 'curl/8.5.0',
    created_at: '2026-06-01T12:00:00Z',
    last_seen_at: '2026-06-01T12:00:00Z',
    expires_at: '2026-06-02T00:00:00Z',
    current: uid === 2,
  }),
);
const answered = vi.fn();

beforeEach(() => vi.stubGlobal('fetch', answered));
afterEach(() => {
  answered.mockReset();
  vi.unstubAllGlobals();
});

function open(own: boolean, sessions: readonly UserSession[]) {
  answered.mockImplementation(async (_: string, { method }: RequestInit) =>
    Response.json(method === 'GET' ? sessions : {}),
  );
  render(
    <MantineProvider>
      <QueryClientProvider client={new QueryClient()}>
        <Sessions user={{ uid: 7, email: 'ann' }} own={own} onClose={() => undefined} />
      </QueryClientProvider>
    </MantineProvider>,
  );
}

const requests = () =>
  answered.mock.calls.flatMap(([path, { method }]) => (method === 'DELETE' ? [path] : []));

it('ends one or all other sessions of the signed-in user', async () => {
  open(true, SESSIONS);
  expect(await screen.findByText(/current session/)).toBeTruthy();
  expect(screen.queryByRole('button', { name: /from 192.0.2.2/ })).toBeNull();
  fireEvent.click(screen.getByRole('button', { name: /from 192.0.2.3/ }));
  await waitFor(() => expect(requests()).toEqual(['/v1/users/7/sessions/3']));
  await waitFor(() =>
    expect(
      screen.getByRole<HTMLButtonElement>('button', { name: 'End all other sessions' }).disabled,
    ).toBe(false),
  );
  fireEvent.click(screen.getByRole('button', { name: 'End all other sessions' }));
  await waitFor(() => expect(requests()[1]).toBe('/v1/users/7/sessions'));
});

it('disables ending sessions if there are none', async () => {
  open(false, []);
  expect(await screen.findByText('Not signed in anywhere.')).toBeTruthy();
  expect(screen.getByRole<HTMLButtonElement>('button', { name: 'End all sessions' }).disabled).toBe(
    true,
  );
});

it('signs out the programs of the user, and shows no tokens of others', async () => {
  const token = { role: 'admin', role_uids: [1], created_at: '2026-06-01T12:00:00Z' };
  answered.mockImplementation(async (path: string, { method }: RequestInit) => {
    if (method !== 'GET') return Response.json({});
    return Response.json(
      path === '/v1/service_tokens'
        ? [
            { ...token, uid: 4, user_uid: 7, name: 'ann on build-7', last_used_at: null },
            { ...token, uid: 5, user_uid: null, name: 'deploy', last_used_at: null },
          ]
        : SESSIONS,
    );
  });
  render(
    <MantineProvider>
      <QueryClientProvider client={new QueryClient()}>
        <Sessions user={{ uid: 7, email: 'ann' }} own onClose={() => undefined} />
      </QueryClientProvider>
    </MantineProvider>,
  );
  fireEvent.click(await screen.findByRole('button', { name: 'Sign out ann on build-7' }));
  expect(screen.queryByText('deploy')).toBeNull();
  await waitFor(() => expect(requests()).toEqual(['/v1/service_tokens/4']));
});
