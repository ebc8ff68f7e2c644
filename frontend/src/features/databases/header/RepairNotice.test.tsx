// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { fireEvent, render, screen, waitFor } from '@testing-library/react';
import { describe, expect, it, vi } from 'vitest';
import { sessionQuery } from '@/api/access/session';
import type { Bdb, RepairReply, Session } from '@/api/types';
import { RepairNotice } from './RepairNotice';

const bdb = {
  uid: 7,
  name: 'orders',
  status: 'active',
  mismatch: 'Agents did not have 1 shard (redis:3 on node 1).',
} as Bdb;

function show(plan: Omit<RepairReply, 'action_uid'>, status = 200, role = 'admin') {
  const fetched = vi.fn(async (_path: string, _init: RequestInit) =>
    Response.json({ ...plan, action_uid: null }, { status }),
  );
  vi.stubGlobal('fetch', fetched);
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity } } });
  client.setQueryData(sessionQuery.queryKey, { role } as Session);
  render(
    <MantineProvider>
      <QueryClientProvider client={client}>
        <RepairNotice bdb={bdb} />
      </QueryClientProvider>
    </MantineProvider>,
  );
  return fetched;
}

const bodies = (fetched: ReturnType<typeof show>) =>
  fetched.mock.calls.map(([path, init]) => [path, JSON.parse(String(init.body))]);
const button = (name: string) => screen.getByRole<HTMLButtonElement>('button', { name });

describe('RepairNotice', () => {
  it('shows the difference and the changes, and repairs the database', async () => {
    const fetched = show({ changes: ['The console takes over redis:9.'], loses_data: false });
    expect(screen.getByText(/redis:3 on node 1/)).toBeTruthy();
    fireEvent.click(button('Repair database…'));
    await screen.findByText('The console takes over redis:9.');
    fireEvent.click(button('Repair database'));
    const path = '/v1/bdbs/7/actions/repair';
    await waitFor(() =>
      expect(bodies(fetched)).toEqual([
        [path, { dry_run: true }],
        [path, {}],
      ]),
    );
  });

  it('requires a typed confirmation if data is lost', async () => {
    const fetched = show({ changes: ['All keys are lost.'], loses_data: true });
    fireEvent.click(button('Repair database…'));
    await screen.findByText('All keys are lost.');
    expect(button('Repair and start empty').disabled).toBe(true);
    fireEvent.change(screen.getByRole('textbox'), { target: { value: 'database 7' } });
    fireEvent.click(button('Repair and start empty'));
    await waitFor(() => expect(bodies(fetched)[1]?.[1]).toEqual({ confirm: 'database 7' }));
  });

  it('is disabled for roles that cannot administer the cluster', () => {
    show({ changes: [], loses_data: false }, 200, 'db_viewer');
    expect(button('Repair database…').disabled).toBe(true);
  });
});
