// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { render, screen, within } from '@testing-library/react';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { sessionQuery } from '@/api/access/session';
import type { LogEvent, Session } from '@/api/types';
import { AlarmTables } from './AlarmTables';

const history = vi.hoisted(() => ({ events: undefined as unknown }));
vi.mock('@tanstack/react-router', () => ({
  Link: ({ children }: { children: string }) => <a href="/">{children}</a>,
}));
vi.mock('@/live/useCoarseWindow', () => ({
  useCoarseWindow: () => ({ from: 0, to: 1_700_000_100, length: 1_000 }),
}));
vi.mock('@/live/useEventHistory', () => ({ useEventHistory: () => history.events }));

const T0 = 1_700_000_000_000;
const alarm = (uid: number, part: Partial<LogEvent>): LogEvent =>
  ({
    uid,
    time: new Date(T0).toISOString(),
    time_ms: T0,
    type: 'alarm_memory_full',
    severity: 'WARNING',
    description: 'It was so.',
    open: true,
    ...part,
  }) as LogEvent;

const replies: Record<string, unknown> = {};

beforeEach(() => {
  history.events = [];
  Object.assign(replies, {
    '/v1/bdbs': [{ uid: 1, name: 'orders' }],
    '/v1/cluster/health': { status: 'ok', alarms: [] },
  });
  vi.stubGlobal('fetch', async (path: string) => {
    const [bare = ''] = path.split('?');
    return replies[bare] === undefined
      ? Response.json(
          { error_code: 'x', description: 'The store is unavailable.' },
          { status: 500 },
        )
      : Response.json(replies[bare]);
  });
});

function show(role = 'admin') {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  client.setQueryData(sessionQuery.queryKey, { role } as Session);
  render(
    <MantineProvider>
      <QueryClientProvider client={client}>
        <AlarmTables />
      </QueryClientProvider>
    </MantineProvider>,
  );
}

const rows = (table: string) =>
  within(screen.getByRole('table', { name: table }))
    .getAllByRole('row')
    .slice(1)
    .map((row) => (row.textContent ?? '').replaceAll('\u00a0', ' '));

describe('AlarmTables', () => {
  it('lists active alarms, errors first, with the affected object', async () => {
    replies['/v1/cluster/health'] = {
      status: 'degraded',
      alarms: [
        alarm(1, { type: 'alarm_clock', node_uid: 2 }),
        alarm(2, { severity: 'ERROR', bdb_uid: 1 }),
        alarm(3, { type: 'alarm_of_a_newer_console' }),
        alarm(4, { bdb_uid: 9 }),
      ],
    };
    show();
    expect(await screen.findByText('orders rejects writes: its memory is full')).toBeTruthy();
    const found = rows('Active alarms');
    expect(found[0]).toMatch(/^Error.*orders/);
    expect(found.filter((row) => row.startsWith('Warning'))).toHaveLength(3);
    expect(found.some((row) => row.includes('It was socluster'))).toBe(true);
    expect(found.some((row) => row.includes('database 9 (deleted)'))).toBe(true);
    expect(screen.getByText('node 2')).toBeTruthy();
  });

  it('shows an empty state without active alarms', async () => {
    show();
    expect(await screen.findByText('No active alarms')).toBeTruthy();
  });

  it('shows an error instead of the empty state if alarms cannot be loaded', async () => {
    delete replies['/v1/cluster/health'];
    show();
    expect(await screen.findByText('Alarms could not be loaded')).toBeTruthy();
    expect(screen.queryByText('No active alarms')).toBeNull();
  });

  it('lists ended alarms, the newest first, with their duration', async () => {
    history.events = [
      alarm(1, { ended_ms: T0 + 4_000, open: false, node_uid: 1 }),
      alarm(2, { time_ms: T0 + 1_000, ended_ms: T0 + 62_000, open: false, node_uid: 2 }),
      alarm(3, {}),
      alarm(5, { ended_ms: T0 + 200_000, open: false, node_uid: 3 }),
      alarm(4, { type: 'node_failed', ended_ms: T0 + 9_000 }),
    ];
    show();
    await screen.findByText('node 2');
    const found = rows('Ended in this time range');
    expect(found).toHaveLength(2);
    expect(found[0]).toMatch(/node 2.*1 min 1 s$/);
    expect(found[1]).toMatch(/node 1.*4 s$/);
  });

  it('hides ended alarms from roles that cannot read the event log', async () => {
    show('db_viewer');
    expect(await screen.findByText('No active alarms')).toBeTruthy();
    expect(screen.queryByText('Ended in this time range')).toBeNull();
  });
});
