// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { fireEvent, render, screen } from '@testing-library/react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { sessionQuery } from '@/api/access/session';
import { ConfirmDevice } from './ConfirmDevice';

const FOUND = {
  name: 'build-7',
  address: '192.0.2.44',
  created_at: '2026-01-01T00:00:00Z',
  expires_at: '2026-01-01T00:10:00Z',
  role: 'db_member',
  bdbs: [3, 4],
  ttl: 86_400 * 30,
};
const answered = vi.fn();

beforeEach(() => {
  vi.stubGlobal('fetch', answered);
  const client = new QueryClient();
  client.setQueryDefaults(sessionQuery.queryKey, { staleTime: Infinity });
  client.setQueryData(sessionQuery.queryKey, { username: 'ann@example.org' } as never);
  render(
    <MantineProvider>
      <QueryClientProvider client={client}>
        <ConfirmDevice />
      </QueryClientProvider>
    </MantineProvider>,
  );
});
afterEach(() => {
  answered.mockReset();
  vi.unstubAllGlobals();
});

const reply = (body: unknown, status = 200) =>
  answered.mockImplementationOnce(async () => Response.json(body, { status }));
const click = (name: string) => fireEvent.click(screen.getByRole('button', { name }));
const find = (code: string) => {
  fireEvent.change(screen.getByLabelText('Code'), { target: { value: code } });
  click('Continue');
};
const sent = () => answered.mock.calls.map(([path, { body }]) => [path, JSON.parse(body)]);

it('shows the machine and the permissions before the sign-in is confirmed', async () => {
  reply(FOUND);
  find('bcdf-ghjk');
  expect(await screen.findByText('192.0.2.44')).toBeTruthy();
  for (const text of [
    'build-7 (as the program states)',
    'ann@example.org',
    'db_member, databases 3, 4 only',
    '30 days',
  ])
    expect(screen.getByText(text)).toBeTruthy();
  reply({});
  click('Confirm sign-in');
  expect(await screen.findByText(/The program on build-7 is signed in/)).toBeTruthy();
  expect(sent()).toEqual([
    ['/v1/device_logins/find', { user_code: 'bcdf-ghjk' }],
    ['/v1/device_logins/confirm', { user_code: 'bcdf-ghjk', approve: true }],
  ]);
});

it('denies a sign-in', async () => {
  reply(FOUND);
  find('bcdf-ghjk');
  await screen.findByText('192.0.2.44');
  reply({});
  click('Deny');
  expect(await screen.findByText(/was denied/)).toBeTruthy();
  expect(sent()[1]).toEqual([
    '/v1/device_logins/confirm',
    { user_code: 'bcdf-ghjk', approve: false },
  ]);
});

it('reports a code that is not valid, and accepts another one', async () => {
  reply({ error_code: 'device_login_not_exist', description: 'The code is not valid.' }, 404);
  find('wrong');
  expect(await screen.findByText('The code is not valid.')).toBeTruthy();
  reply(FOUND);
  find('bcdf-ghjk');
  expect(await screen.findByText('192.0.2.44')).toBeTruthy();
});
