// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { fireEvent, render, screen } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { EndpointCommands } from '@/api/types';
import { CommandTable } from './CommandTable';

const fetchMock = vi.fn();

beforeEach(() => vi.stubGlobal('fetch', fetchMock));
afterEach(() => {
  fetchMock.mockReset();
  vi.unstubAllGlobals();
});

const SNAPSHOT: EndpointCommands = {
  bdb_uid: 7,
  interval: 58,
  commands: [
    {
      name: 'set',
      calls_per_second: 1200,
      errors_per_second: 0.5,
      avg_latency: 0.2,
      p50_latency: 0.15,
      p99_latency: 2.5,
    },
    { name: 'quit', calls_per_second: 0.1, errors_per_second: 0 },
  ],
  nodes: [{ node_uid: '1', detail: '' }],
  detail: '',
};

function open(part: Partial<EndpointCommands>) {
  fetchMock.mockImplementation(async () => Response.json({ ...SNAPSHOT, ...part }));
  show();
}

function show() {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  render(
    <MantineProvider>
      <QueryClientProvider client={client}>
        <CommandTable bdb={7} />
      </QueryClientProvider>
    </MantineProvider>,
  );
}

const cells = () =>
  screen
    .getAllByRole('row')
    .slice(1)
    .map((row) =>
      [...row.querySelectorAll('td')].map((cell) => cell.textContent?.replace(/\u00a0/g, ' ')),
    );

describe('CommandTable', () => {
  it('lists commands, and shows a dash with the reason for missing values', async () => {
    open({});
    await screen.findByText('SET');
    expect(fetchMock.mock.lastCall?.[0]).toBe('/v1/bdbs/7/endpoint/commands');
    expect(cells()).toEqual([
      ['SET', '1.2 k /s', '0.5 /s', '200 µs', '150 µs', '2.5 ms'],
      ['QUIT', '0.1 /s', '0 /s', '–', '–', '–'],
    ]);
    expect(screen.getAllByText('–')[0]?.title).toMatch(/no shard latency was measured/);
    expect(screen.getByText(/of the last 58 s/)).toBeTruthy();
  });

  it('can be sorted by column', async () => {
    open({});
    await screen.findByText('SET');
    fireEvent.click(screen.getByRole('button', { name: 'Command' }));
    expect(cells().map(([name]) => name)).toEqual(['QUIT', 'SET']);
  });

  it('shows an empty state if there are no commands', async () => {
    open({ commands: [] });
    await screen.findByText('No commands in the last minute');
  });

  it('shows which proxies did not report', async () => {
    open({ detail: '1 of 2 proxies return data about commands.' });
    await screen.findByText('1 of 2 proxies return data about commands.');
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
