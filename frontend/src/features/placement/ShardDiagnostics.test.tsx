// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { fireEvent, render, screen } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { sessionQuery } from '@/api/access/session';
import type { Session } from '@/api/types';
import { ShardDiagnostics } from './ShardDiagnostics';

const fetchMock = vi.fn();

beforeEach(() => vi.stubGlobal('fetch', fetchMock));
afterEach(() => {
  fetchMock.mockReset();
  vi.unstubAllGlobals();
});

function open(title: string, role: string, reply: unknown, status = 200) {
  fetchMock.mockImplementation(async () => Response.json(reply, { status }));
  const client = new QueryClient();
  client.setQueryData(sessionQuery.queryKey, { uid: 1, role } as Session);
  render(
    <MantineProvider>
      <QueryClientProvider client={client}>
        <ShardDiagnostics shard="3" />
      </QueryClientProvider>
    </MantineProvider>,
  );
  const details = screen.getByText(title).closest('details') as HTMLDetailsElement;
  details.open = true;
  fireEvent(details, new Event('toggle'));
}

describe('ShardDiagnostics', () => {
  it('sends no request before a section is expanded', () => {
    render(
      <MantineProvider>
        <QueryClientProvider client={new QueryClient()}>
          <ShardDiagnostics shard="3" />
        </QueryClientProvider>
      </MantineProvider>,
    );
    expect(fetchMock).not.toHaveBeenCalled();
  });

  it('lists slow commands with their duration', async () => {
    const entry = {
      id: 7,
      at: 1_760_400_087,
      microseconds: 15_000,
      client: 'a:1',
      client_name: '',
    };
    open('Slow log', 'admin', {
      shard_uid: '3',
      threshold_us: 10_000,
      entries: [{ ...entry, arguments: ['KEYS', '*'] }],
    });
    expect(await screen.findByText('KEYS *')).toBeTruthy();
    expect(screen.getByText(/15\sms/)).toBeTruthy();
    expect(fetchMock.mock.calls[0]?.[0]).toBe('/v1/shards/3/slowlog');
  });

  it('shows the threshold if the slow log is empty', async () => {
    open('Slow log', 'admin', { shard_uid: '3', threshold_us: 10_000, entries: [] });
    expect(await screen.findByText(/No command took longer than 10\sms/)).toBeTruthy();
  });

  it('hides the slow log from users with read-only roles', () => {
    open('Slow log', 'cluster_viewer', {});
    expect(screen.getByText(/The slow log contains keys and data/)).toBeTruthy();
    expect(fetchMock).not.toHaveBeenCalled();
  });

  it('lists clients, and shows how many more there are', async () => {
    const client = { id: 7, kind: 'endpoint', addr: '127.0.0.2:51000', name: 'shardboard-proxy' };
    const rest = { user: 'default', library: '', command: 'config|get', memory_bytes: 2048 };
    open('Clients', 'cluster_viewer', {
      shard_uid: '3',
      total: 3,
      clients: [{ ...client, ...rest, connected_seconds: 61, idle_seconds: 3 }],
    });
    expect(await screen.findByText('127.0.0.2:51000')).toBeTruthy();
    for (const text of ['Endpoint proxy', 'CONFIG GET', /^1\smin\s1\ss$/, /^2\sKiB$/])
      expect(screen.getByText(text)).toBeTruthy();
    expect(screen.getByText(/2\smore clients are not shown/)).toBeTruthy();
    expect(fetchMock.mock.calls[0]?.[0]).toBe('/v1/shards/3/clients');
  });

  it('filters INFO by field name', async () => {
    const sections = { Server: { valkey_version: '9.1.2' }, Memory: { used_memory: '5' } };
    open('Engine INFO', 'cluster_viewer', { shard_uid: '3', sections });
    expect(await screen.findByText('valkey_version')).toBeTruthy();
    fireEvent.change(screen.getByLabelText('Filter INFO'), { target: { value: 'memory' } });
    expect(screen.queryByText('valkey_version')).toBeNull();
    expect(screen.getByText('used_memory')).toBeTruthy();
    fireEvent.change(screen.getByLabelText('Filter INFO'), { target: { value: 'nothing' } });
    expect(screen.getByText('No matches')).toBeTruthy();
  });

  it('shows the error if the shard does not respond', async () => {
    open('Engine INFO', 'admin', { description: 'Shard redis:3 does not answer.' }, 409);
    expect(await screen.findByText('Shard redis:3 does not answer.')).toBeTruthy();
  });
});
