// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { act, fireEvent, render, screen, waitFor, within } from '@testing-library/react';
import { useState } from 'react';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { sessionQuery } from '@/api/access/session';
import { eventsQuery } from '@/api/alerting/events';
import { healthQuery } from '@/api/alerting/health';
import { bdbsQuery } from '@/api/databases/bdbs';
import type { Bdb, Session } from '@/api/types';
import { DatabaseList } from './DatabaseList';

const latest = vi.hoisted(() => new Map<string, number>());
vi.mock('@tanstack/react-router', () => ({
  Link: ({ children }: { children: string }) => <a href="/">{children}</a>,
  useNavigate: () => () => {},
}));
vi.mock('@/live/LiveProvider', () => ({
  useLive: () => ({
    edge: () => 0,
    ring: () => ({
      latest: (uid: string, metric: string) => latest.get(`${metric} ${uid}`) ?? Number.NaN,
    }),
  }),
  useTopic: () => {},
  useTick: () => {},
}));
vi.mock('./LiveSpark', () => ({ LiveSpark: () => null }));

const bdb = (uid: number, name: string, part: Partial<Bdb> = {}) =>
  ({
    uid,
    name,
    status: 'active',
    shards_count: 1,
    shards_total: 1,
    shards_in_sync: 1,
    shards_down: 0,
    memory_size: 0,
    endpoints: [{ port: 12_000 + uid, addr: ['10.0.0.1'] }],
    tags: [],
    incomplete_changes: [],
    traffic_manually_disabled: false,
    data_persistence: 'disabled',
    ...part,
  }) as unknown as Bdb;

const BDBS = [
  bdb(1, 'orders', { tags: [{ key: 'team', value: 'shop' }], replication: true }),
  bdb(2, 'cache', { traffic_manually_disabled: true }),
  bdb(3, 'sessions'),
];

let requests: string[];
let rejectedPath: string | null;

beforeEach(() => {
  requests = [];
  rejectedPath = null;
  latest.clear();
  localStorage.clear();
  vi.stubGlobal('fetch', async (path: string, init: RequestInit) => {
    requests.push(`${init.method} ${path}`);
    return rejectedPath && path.includes(rejectedPath)
      ? Response.json({ error_code: 'db_busy', description: 'It is busy.' }, { status: 409 })
      : Response.json({ action_uid: 'a', description: '' });
  });
});

function Page() {
  const [text, setText] = useState('');
  return <DatabaseList text={text} onText={setText} empty={<p>none</p>} />;
}

function show(bdbs = BDBS, role = 'admin') {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity } } });
  client.setQueryData(sessionQuery.queryKey, { role } as Session);
  client.setQueryData(bdbsQuery.queryKey, bdbs);
  client.setQueryData(healthQuery.queryKey, { status: 'ok', alarms: [], acknowledged: 0 });
  client.setQueryData(eventsQuery.queryKey, []);
  render(
    <MantineProvider>
      <QueryClientProvider client={client}>
        <Page />
      </QueryClientProvider>
    </MantineProvider>,
  );
  return client;
}

const names = () =>
  within(screen.getByRole('table'))
    .getAllByRole('row')
    .slice(1)
    .map((row) => within(row).getAllByRole('link')[0]?.textContent);
const select = (name: string) => fireEvent.click(screen.getByLabelText(`Select ${name}`));
const press = (name: string | RegExp) => fireEvent.click(screen.getByRole('button', { name }));
const type = (label: string, value: string) =>
  fireEvent.change(screen.getByLabelText(label), { target: { value } });

describe('DatabaseList', () => {
  it.each([
    ['ORD', ['orders']],
    ['shop', ['orders']],
    ['12003', ['sessions']],
    ['stopped', ['cache']],
    ['replication team', ['orders']],
  ])('filters by %s', (text, found) => {
    show();
    type('Filter', text);
    expect(names()).toEqual(found);
    expect(screen.getByText(`1 of 3`)).toBeTruthy();
  });

  it('shows an empty state with a button to show all if nothing matches', () => {
    show();
    type('Filter', 'unknown');
    expect(screen.getByText('No matches')).toBeTruthy();
    press('Show all 3');
    expect(names()).toHaveLength(3);
  });

  it('sorts by live values, highest first and unknown last', () => {
    latest.set('total_req 1', 5).set('total_req 3', 90);
    show();
    press('Throughput');
    expect(names()).toEqual(['sessions', 'orders', 'cache']);
    press('Throughput');
    expect(names()).toEqual(['orders', 'sessions', 'cache']);
  });

  it('hides columns that were hidden before', () => {
    localStorage.setItem('shardboard.databases.hidden', '["endpoint"]');
    show();
    expect(screen.queryByRole('columnheader', { name: 'Endpoint' })).toBeNull();
    expect(screen.getByRole('columnheader', { name: 'Shards' })).toBeTruthy();
  });

  it('hides columns without content, and stores the choice of the user', async () => {
    show(BDBS.map((each) => ({ ...each, tags: [] })));
    expect(screen.queryByRole('columnheader', { name: 'Tags' })).toBeNull();
    press('Columns');
    fireEvent.click(await screen.findByLabelText('Tags'));
    expect(screen.getByRole('columnheader', { name: 'Tags' })).toBeTruthy();
    expect(localStorage.getItem('shardboard.databases.columns')).toBe('{"tags":true}');
    fireEvent.click(screen.getByText('Show columns that fit'));
    expect(screen.queryByRole('columnheader', { name: 'Tags' })).toBeNull();
  });

  it('submits an action for several databases and shows each result', async () => {
    rejectedPath = '/v1/bdbs/3';
    show();
    select('orders');
    select('cache');
    select('sessions');
    press('Stop traffic…');
    const dialog = await screen.findByRole('dialog');
    expect(within(dialog).getByText(/Skipped because of their state.*cache/)).toBeTruthy();
    const go = within(dialog).getByRole('button', { name: 'Stop traffic' });
    expect(go.hasAttribute('disabled')).toBe(true);
    fireEvent.change(within(dialog).getByRole('textbox'), { target: { value: '2 databases' } });
    fireEvent.click(go);
    expect(await within(dialog).findByText('It is busy.')).toBeTruthy();
    expect(within(dialog).getByText('Submitted')).toBeTruthy();
    expect(
      within(dialog).getByText('1 of 2 requests rejected; the others were submitted.'),
    ).toBeTruthy();
    expect(requests).toEqual([
      'POST /v1/bdbs/1/actions/stop_traffic',
      'POST /v1/bdbs/3/actions/stop_traffic',
    ]);
  });

  it('keeps showing the results after the selected databases are deleted', async () => {
    const client = show(BDBS.slice(0, 2));
    select('orders');
    press('Delete…');
    const dialog = await screen.findByRole('dialog');
    fireEvent.change(within(dialog).getByRole('textbox'), { target: { value: '1 database' } });
    fireEvent.click(within(dialog).getByRole('button', { name: 'Delete' }));
    await screen.findByText(/All requests submitted/);
    act(() => client.setQueryData(bdbsQuery.queryKey, []));
    expect(await screen.findByText('none')).toBeTruthy();
    expect(screen.getByText(/All requests submitted/)).toBeTruthy();
    press('Done');
    await waitFor(() => expect(screen.queryByRole('dialog')).toBeNull());
  });

  it('selects all shown databases and no others', async () => {
    show();
    type('Filter', 's');
    type('Filter', 'sess');
    fireEvent.click(screen.getByLabelText('Select all shown databases'));
    expect(screen.getByText('1 selected')).toBeTruthy();
    press('Rebalance…');
    fireEvent.click(
      within(await screen.findByRole('dialog')).getByRole('button', { name: 'Rebalance' }),
    );
    await waitFor(() =>
      expect(requests).toEqual(['PUT /v1/bdbs/3/actions/rebalance?only_failovers=false']),
    );
  });

  it('has no selection for read-only roles, and no tools for a single database', () => {
    show(BDBS, 'db_viewer');
    expect(screen.queryByLabelText('Select orders')).toBeNull();
    document.body.replaceChildren();
    show(BDBS.slice(0, 1));
    expect(screen.queryByLabelText('Filter')).toBeNull();
  });
});
