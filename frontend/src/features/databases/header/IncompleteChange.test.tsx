// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { fireEvent, render, screen, waitFor } from '@testing-library/react';
import { describe, expect, it, vi } from 'vitest';
import { sessionQuery } from '@/api/access/session';
import { bdbsQuery } from '@/api/databases/bdbs';
import type { Bdb, Session } from '@/api/types';
import { IncompleteChange } from './IncompleteChange';

const bdb = {
  uid: 7,
  name: 'orders',
  status: 'active',
  status_detail:
    'The last change was not applied to all shards: Shard redis:3: it does not answer.',
  incomplete_changes: ['aof_policy', 'authentication_redis_pass', 'data_persistence'],
} as Bdb;

function show(reply: () => Response, role = 'admin') {
  const fetched = vi.fn(async (_path: string, _init: RequestInit) => reply());
  vi.stubGlobal('fetch', fetched);
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity } } });
  client.setQueryData(bdbsQuery.queryKey, [bdb]);
  client.setQueryData(sessionQuery.queryKey, { role } as Session);
  render(
    <MantineProvider>
      <QueryClientProvider client={client}>
        <IncompleteChange bdb={bdb} />
      </QueryClientProvider>
    </MantineProvider>,
  );
  return { client, fetched };
}

const again = () => screen.getByRole('button', { name: 'Try again' });

describe('IncompleteChange', () => {
  it('shows the affected settings and the reason, and tries again', async () => {
    const pending = { ...bdb, status: 'active-change-pending' };
    const { client, fetched } = show(() => Response.json(pending));
    expect(screen.getByText(/redis:3: it does not answer/)).toBeTruthy();
    expect(screen.getByText(/Affected settings: persistence, password\./)).toBeTruthy();
    fireEvent.click(again());
    await waitFor(() => expect(client.getQueryData(bdbsQuery.queryKey)).toEqual([pending]));
    const [path, init] = fetched.mock.calls[0] ?? [];
    expect([path, init?.method, init?.body]).toEqual(['/v1/bdbs/7', 'PUT', '{}']);
  });

  it('shows why another attempt is not possible now', async () => {
    const body = { error_code: 'busy', description: 'Database orders is changing.' };
    show(() => Response.json(body, { status: 409 }));
    fireEvent.click(again());
    expect(await screen.findByText('Database orders is changing.')).toBeTruthy();
  });

  it('is disabled for read-only roles', () => {
    show(() => Response.json({}), 'db_viewer');
    expect(again().hasAttribute('disabled')).toBe(true);
  });
});
