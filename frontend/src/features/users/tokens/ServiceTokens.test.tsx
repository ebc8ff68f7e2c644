// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { fireEvent, render, screen, waitFor } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { sessionQuery } from '@/api/access/session';
import type { ServiceToken, Session } from '@/api/types';
import { ServiceTokens } from './ServiceTokens';

const CI = {
  uid: 3,
  name: 'ci',
  role: 'admin',
  role_uids: [1],
  created_by: 'ann',
  created_at: '2026-01-01T00:00:00Z',
  expires_at: '2026-02-01T00:00:00Z',
  expired: true,
  user_uid: null,
  last_used_at: null,
} as ServiceToken;
const answered = vi.fn();
let tokens: ServiceToken[];

beforeEach(() => {
  tokens = [];
  vi.stubGlobal('fetch', answered);
  answered.mockImplementation(async (path: string, { method }: RequestInit) =>
    method === 'GET'
      ? Response.json(path === '/v1/roles' ? [] : tokens)
      : Response.json({ ...CI, token: 'sbt_secret' }),
  );
});
afterEach(() => {
  answered.mockReset();
  vi.unstubAllGlobals();
});

function show(role = 'admin') {
  const client = new QueryClient();
  client.setQueryData(sessionQuery.queryKey, { role } as Session);
  render(
    <MantineProvider>
      <QueryClientProvider client={client}>
        <ServiceTokens />
      </QueryClientProvider>
    </MantineProvider>,
  );
}

const sent = (method: string) => {
  const [path, { body }] = answered.mock.calls.find(([, init]) => init.method === method) ?? [
    '',
    {},
  ];
  return [path, body && JSON.parse(body)];
};

describe('ServiceTokens', () => {
  it('explains tokens if none exist, and shows a new token once', async () => {
    show();
    await screen.findByText(/No service tokens yet/);
    fireEvent.click(screen.getByRole('button', { name: 'Add service token' }));
    fireEvent.change(await screen.findByLabelText(/^Name/), { target: { value: ' ci ' } });
    fireEvent.change(screen.getByLabelText('Expires after'), { target: { value: '' } });
    tokens = [CI];
    fireEvent.click(screen.getByRole('button', { name: 'Add token' }));
    await screen.findByText('sbt_secret');
    expect(sent('POST')).toEqual(['/v1/service_tokens', { name: 'ci', role: 'db_viewer' }]);
    fireEvent.click(screen.getByRole('button', { name: 'Done' }));
    await waitFor(() => expect(screen.queryByText('sbt_secret')).toBeNull());
    await screen.findByRole('row', { name: /ci Administrator Expired Never ann/ });
  });

  it('removes a token after its name was entered', async () => {
    tokens = [CI];
    show();
    fireEvent.click(await screen.findByRole('button', { name: 'Remove service token ci' }));
    fireEvent.change(await screen.findByRole('textbox'), { target: { value: 'ci' } });
    fireEvent.click(screen.getByRole('button', { name: 'Remove token' }));
    await waitFor(() => expect(sent('DELETE')[0]).toBe('/v1/service_tokens/3'));
  });

  it('does not let user managers remove tokens of administrators', async () => {
    tokens = [CI];
    show('user_manager');
    const button = await screen.findByRole('button', { name: 'Remove service token ci' });
    expect(button.hasAttribute('disabled')).toBe(true);
  });
});
