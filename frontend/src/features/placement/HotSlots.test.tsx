// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { fireEvent, render, screen, waitFor } from '@testing-library/react';
import type { ReactNode } from 'react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Bdb, HotSlots as Snapshot } from '@/api/types';
import { HotSlots } from './HotSlots';

vi.mock('@tanstack/react-router', () => ({
  Link: ({ children, search }: { children: ReactNode; search: { shard: string } }) => (
    <a href={`?shard=${search.shard}`}>{children}</a>
  ),
}));

const fetchMock = vi.fn();

beforeEach(() => vi.stubGlobal('fetch', fetchMock));
afterEach(() => {
  fetchMock.mockReset();
  vi.unstubAllGlobals();
});

const SNAPSHOT: Snapshot = {
  bdb_uid: 7,
  by: 'cpu_usec',
  interval: 5,
  slots: [
    {
      slot: 15495,
      shard_uid: '3',
      node_uid: '1',
      key_count: 57,
      cpu: 0.42,
      ingress_bytes: 2048,
      egress_bytes: 4096,
      total: { cpu_usec: 2_500_000, network_bytes_in: 9000, network_bytes_out: 18_000 },
    },
    {
      slot: 12,
      shard_uid: '1',
      node_uid: '2',
      key_count: 90,
      total: { cpu_usec: 900, network_bytes_in: 10, network_bytes_out: 10 },
    },
  ],
  shards: [{ shard_uid: '3', node_uid: '1', detail: '' }],
  detail: '',
};

function open(part: Partial<Snapshot>) {
  fetchMock.mockImplementation(async () => Response.json({ ...SNAPSHOT, ...part }));
  show();
}

function show() {
  render(
    <MantineProvider>
      <QueryClientProvider
        client={new QueryClient({ defaultOptions: { queries: { retry: false } } })}
      >
        <HotSlots bdb={{ uid: 7, name: 'shop' } as Bdb} />
      </QueryClientProvider>
    </MantineProvider>,
  );
}

const cells = () =>
  screen
    .getAllByRole('row')
    .slice(1)
    .map((row) => [...row.querySelectorAll('td')].map((cell) => cell.textContent));

describe('HotSlots', () => {
  it('lists slots with their shards, rates, and totals on hover', async () => {
    open({});
    await screen.findByText('15495');
    expect(cells()).toEqual([
      ['15495', 'redis:3', '57', '42%', '2\u00a0KiB/s', '4\u00a0KiB/s'],
      ['12', 'redis:1', '90', '–', '–', '–'],
    ]);
    expect(screen.getByText('42%').title).toBe('2.5\u00a0s since the shard started');
    expect(screen.getByRole('link', { name: 'redis:3' }).getAttribute('href')).toBe('?shard=3');
    fireEvent.click(screen.getByRole('button', { name: 'Slot' }));
    expect(cells().map(([slot]) => slot)).toEqual(['12', '15495']);
  });

  it('sends a new request when the metric changes and on refresh', async () => {
    open({});
    await screen.findByText('15495');
    expect(fetchMock.mock.lastCall?.[0]).toBe('/v1/bdbs/7/slots/hot?by=cpu_usec');
    fireEvent.change(screen.getByLabelText('Rank by'), { target: { value: 'key_count' } });
    await waitFor(() =>
      expect(fetchMock.mock.lastCall?.[0]).toBe('/v1/bdbs/7/slots/hot?by=key_count'),
    );
    const refresh = screen.getByRole<HTMLButtonElement>('button', { name: 'Refresh' });
    await waitFor(() => expect(refresh.disabled).toBe(false));
    fireEvent.click(refresh);
    await waitFor(() => expect(fetchMock).toHaveBeenCalledTimes(3));
  });

  it('states that the first query has totals only', async () => {
    open({ interval: undefined });
    await screen.findByText(/Rates are available after the next query/);
  });

  it('shows an empty state if there are no hot slots', async () => {
    open({ slots: [] });
    await screen.findByText('No hot slots yet');
  });

  it('shows the reason and an alternative if the engine has no slot statistics', async () => {
    open({ slots: [], detail: 'Shard redis:1: Valkey 8.0.1 counts keys only.' });
    await screen.findByText('Shard redis:1: Valkey 8.0.1 counts keys only.');
    await screen.findByText(/Rank by keys/);
  });

  it('names the shards that are missing from the list', async () => {
    open({ detail: '2 of 3 primaries return data about slots.' });
    await screen.findByText('2 of 3 primaries return data about slots.');
    expect(cells().length).toBe(2);
  });

  it('shows the error if the request fails', async () => {
    fetchMock.mockImplementation(async () =>
      Response.json({ error_code: 'db_not_found', description: 'No database 7.' }, { status: 404 }),
    );
    show();
    expect((await screen.findByRole('alert')).textContent).toContain('No database 7.');
  });
});
