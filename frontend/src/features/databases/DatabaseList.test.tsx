// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { act, fireEvent, render, screen, waitFor, within } from '@testing-library/react';
import { useState } from 'react';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { bdbsQuery } from '@/api/bdbs';
import { sessionQuery } from '@/api/session';
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

let asked: string[];
let refuse: string | null;

beforeEach(() => {
  asked = [];
  refuse = null;
  latest.clear();
  localStorage.clear();
  vi.stubGlobal('fetch', async (path: string, init: RequestInit) => {
    asked.push(`${init.method} ${path}`);
    return refuse && path.includes(refuse)
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
const choose = (name: string) => fireEvent.click(screen.getByLabelText(`Choose ${name}`));
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
  ])('narrows by %s', (text, found) => {
    show();
    type('Filter', text);
    expect(names()).toEqual(found);
    expect(screen.getByText(`1 of 3`)).toBeTruthy();
  });

  it('says when nothing matches, and has a way back', () => {
    show();
    type('Filter', 'nobody');
    expect(screen.getByText('No match')).toBeTruthy();
    press('Show all 3');
    expect(names()).toHaveLength(3);
  });

  it('sorts by live figures, the highest first and the unknown last', () => {
    latest.set('total_req 1', 5).set('total_req 3', 90);
    show();
    press('Throughput');
    expect(names()).toEqual(['sessions', 'orders', 'cache']);
    press('Throughput');
    expect(names()).toEqual(['orders', 'sessions', 'cache']);
  });

  it('hides columns, and remembers it', () => {
    localStorage.setItem('shardboard.databases.hidden', '["endpoint"]');
    show();
    expect(screen.queryByRole('columnheader', { name: 'Endpoint' })).toBeNull();
    expect(screen.getByRole('columnheader', { name: 'Shards' })).toBeTruthy();
  });

  it('orders for several at once, and tells of each', async () => {
    refuse = '/v1/bdbs/3';
    show();
    choose('orders');
    choose('cache');
    choose('sessions');
    press('Stop traffic…');
    const dialog = await screen.findByRole('dialog');
    expect(within(dialog).getByText(/Left out.*cache/)).toBeTruthy();
    const go = within(dialog).getByRole('button', { name: 'Stop traffic' });
    expect(go.hasAttribute('disabled')).toBe(true);
    fireEvent.change(within(dialog).getByRole('textbox'), { target: { value: '2 databases' } });
    fireEvent.click(go);
    expect(await within(dialog).findByText('It is busy.')).toBeTruthy();
    expect(within(dialog).getByText('Ordered')).toBeTruthy();
    expect(within(dialog).getByText('1 of 2 refused; the others are ordered.')).toBeTruthy();
    expect(asked).toEqual([
      'POST /v1/bdbs/1/actions/stop_traffic',
      'POST /v1/bdbs/3/actions/stop_traffic',
    ]);
  });

  it('keeps telling when what was chosen is gone by then', async () => {
    const client = show(BDBS.slice(0, 2));
    choose('orders');
    press('Delete…');
    const dialog = await screen.findByRole('dialog');
    fireEvent.change(within(dialog).getByRole('textbox'), { target: { value: '1 database' } });
    fireEvent.click(within(dialog).getByRole('button', { name: 'Delete' }));
    await screen.findByText(/All are ordered/);
    act(() => client.setQueryData(bdbsQuery.queryKey, []));
    expect(await screen.findByText('none')).toBeTruthy();
    expect(screen.getByText(/All are ordered/)).toBeTruthy();
    press('Done');
    await waitFor(() => expect(screen.queryByRole('dialog')).toBeNull());
  });

  it('chooses all that are shown, and no others', async () => {
    show();
    type('Filter', 's');
    type('Filter', 'sess');
    fireEvent.click(screen.getByLabelText('All that are shown'));
    expect(screen.getByText('1 chosen')).toBeTruthy();
    press('Rebalance…');
    fireEvent.click(
      within(await screen.findByRole('dialog')).getByRole('button', { name: 'Rebalance' }),
    );
    await waitFor(() =>
      expect(asked).toEqual(['PUT /v1/bdbs/3/actions/rebalance?only_failovers=false']),
    );
  });

  it('offers no choice to those who may not change anything, and no tools for one database', () => {
    show(BDBS, 'db_viewer');
    expect(screen.queryByLabelText('Choose orders')).toBeNull();
    document.body.replaceChildren();
    show(BDBS.slice(0, 1));
    expect(screen.queryByLabelText('Filter')).toBeNull();
  });
});
