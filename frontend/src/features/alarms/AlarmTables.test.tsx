// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { fireEvent, render, screen, waitFor, within } from '@testing-library/react';
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
let sent: { path: string; body: unknown }[];

beforeEach(() => {
  history.events = [];
  sent = [];
  Object.assign(replies, {
    '/v1/bdbs': [{ uid: 1, name: 'orders' }],
    '/v1/cluster/health': { status: 'ok', alarms: [], acknowledged: 0 },
  });
  vi.stubGlobal('fetch', async (path: string, init?: RequestInit) => {
    const [bare = ''] = path.split('?');
    if (init?.method === 'POST') sent.push({ path: bare, body: JSON.parse(String(init.body)) });
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

  it('separates acknowledged alarms and shows their assignee, note, and expiry', async () => {
    const acknowledgement = {
      username: 'ann',
      assigned_to: 'bob',
      note: 'Disk ordered.',
      time: new Date(T0).toISOString(),
      until: '2999-01-02T03:04:05Z',
      until_ms: Date.parse('2999-01-02T03:04:05Z'),
    };
    const expired = { ...acknowledgement, until: new Date(T0).toISOString(), until_ms: T0 };
    replies['/v1/cluster/health'] = {
      status: 'warning',
      acknowledged: 1,
      alarms: [
        alarm(1, { node_uid: 1, acknowledgement }),
        alarm(2, { node_uid: 2 }),
        alarm(3, { node_uid: 3, acknowledgement: expired }),
      ],
    };
    show();
    await screen.findByText('node 1');
    const choose = (value: string) =>
      fireEvent.change(screen.getByLabelText('Show'), { target: { value } });
    choose('acknowledged');
    expect(rows('Active alarms')).toHaveLength(1);
    expect(rows('Active alarms')[0]).toMatch(/Assigned to bob.*Disk ordered.*By ann/);
    choose('open');
    expect(rows('Active alarms')).toHaveLength(2);
    expect(rows('Active alarms').some((row) => row.includes('expired'))).toBe(true);
    choose('own');
    expect(screen.getByText('No such alarms')).toBeTruthy();
  });

  it('acknowledges an alarm', async () => {
    replies['/v1/cluster/health'] = { status: 'warning', alarms: [alarm(7, { node_uid: 1 })] };
    replies['/v1/users'] = [];
    replies['/v1/alarms/7/acknowledgement'] = {};
    show();
    fireEvent.click(await screen.findByRole('button', { name: 'Acknowledge…' }));
    const dialog = await screen.findByRole('dialog');
    fireEvent.change(within(dialog).getByLabelText('Note'), { target: { value: 'On it' } });
    fireEvent.change(within(dialog).getByLabelText('Expires'), { target: { value: '60' } });
    fireEvent.click(within(dialog).getByRole('button', { name: 'Acknowledge' }));
    await waitFor(() =>
      expect(sent).toEqual([
        { path: '/v1/alarms/7/acknowledgement', body: { note: 'On it', minutes: 60 } },
      ]),
    );
  });

  it('does not let viewers acknowledge alarms', async () => {
    replies['/v1/cluster/health'] = { status: 'warning', alarms: [alarm(7, { node_uid: 1 })] };
    show('cluster_viewer');
    const button = await screen.findByRole('button', { name: 'Acknowledge…' });
    expect(button.hasAttribute('disabled')).toBe(true);
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
