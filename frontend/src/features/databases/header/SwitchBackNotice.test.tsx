// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { fireEvent, render, screen, waitFor } from '@testing-library/react';
import { describe, expect, it, vi } from 'vitest';
import { sessionQuery } from '@/api/access/session';
import { bdbsQuery } from '@/api/databases/bdbs';
import { shardsQuery } from '@/api/databases/shards';
import type { Bdb, Session, Shard } from '@/api/types';
import { SwitchBackNotices } from './SwitchBackNotice';

const BDBS = [
  { uid: 7, name: 'orders', status: 'active' },
  { uid: 8, name: 'cache', status: 'active' },
] as Bdb[];

const shard = (uid: string, node: number, part: Partial<Shard> = {}) =>
  ({
    uid,
    bdb_uid: 7,
    node_uid: String(node),
    pair: 1,
    role: 'slave',
    actual_role: 'slave',
    detailed_status: 'ok',
    sync: { status: 'idle', progress: 0 },
    lost_lead: false,
    ...part,
  }) as Shard;
const PRIMARY = { role: 'master', actual_role: 'master', sync: undefined } as Partial<Shard>;
const AFTER = [shard('1', 2, { lost_lead: true }), shard('4', 1, PRIMARY)];

function show(
  shards: Shard[],
  {
    role = 'admin',
    bdbUids,
    reply = () => Response.json({}),
  }: {
    role?: string;
    bdbUids?: number[];
    reply?: () => Response;
  } = {},
) {
  const fetched = vi.fn(async (_path: string, _init: RequestInit) => reply());
  vi.stubGlobal('fetch', fetched);
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity } } });
  client.setQueryData(sessionQuery.queryKey, { role } as Session);
  client.setQueryData(bdbsQuery.queryKey, BDBS);
  client.setQueryData(shardsQuery.queryKey, shards);
  render(
    <MantineProvider>
      <QueryClientProvider client={client}>
        <SwitchBackNotices {...(bdbUids ? { bdbUids } : {})} />
      </QueryClientProvider>
    </MantineProvider>,
  );
  return fetched;
}

const button = () => screen.queryByRole('button', { name: 'Switch back…' });

describe('SwitchBackNotices', () => {
  it('shows the planned switchovers and submits them', async () => {
    const fetched = show(AFTER);
    expect(screen.getByText(/1 primary of orders can be switched back to node 2/)).toBeTruthy();
    fireEvent.click(button() as HTMLElement);
    expect(await screen.findByText('redis:4 on node 1 → redis:1 on node 2')).toBeTruthy();
    fireEvent.click(screen.getByRole('button', { name: 'Switch back' }));
    await waitFor(() => expect(fetched).toHaveBeenCalled());
    const [path, init] = fetched.mock.calls[0] ?? [];
    expect([path, init?.method]).toEqual(['/v1/bdbs/7/actions/return_primaries', 'PUT']);
  });

  it('shows why the console rejects the request', async () => {
    const body = { error_code: 'db_busy', description: 'Another action is running on orders.' };
    show(AFTER, { reply: () => Response.json(body, { status: 409 }) });
    fireEvent.click(button() as HTMLElement);
    fireEvent.click(await screen.findByRole('button', { name: 'Switch back' }));
    expect(await screen.findByText('Another action is running on orders.')).toBeTruthy();
  });

  it.each([
    ['no shard lost the primary role', [shard('1', 2), shard('4', 1, PRIMARY)]],
    [
      'a replica is being resynced',
      [shard('1', 2, { lost_lead: true, sync: { status: 'in_progress', progress: 9 } })],
    ],
    ['a shard is down', [...AFTER, shard('9', 3, { detailed_status: 'down' })]],
  ])('offers nothing while %s', (_, shards) => {
    show(shards);
    expect(button()).toBeNull();
  });

  it('ignores databases that are not listed', () => {
    show(AFTER, { bdbUids: [8] });
    expect(button()).toBeNull();
  });

  it('is disabled for read-only roles', () => {
    show(AFTER, { role: 'db_viewer' });
    expect(button()?.hasAttribute('disabled')).toBe(true);
  });
});
