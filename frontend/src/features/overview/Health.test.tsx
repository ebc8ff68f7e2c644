// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { render, screen } from '@testing-library/react';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { Health } from './Health';
import type { Problem } from './problems';

vi.mock('@tanstack/react-router', () => ({
  Link: ({ children }: { children: string }) => <a href="/">{children}</a>,
}));

const replies: Record<string, unknown> = {};

beforeEach(() => {
  Object.assign(replies, {
    '/v1/nodes': [{ uid: 1 }],
    '/v1/shards': [{ uid: '1' }],
    '/v1/bdbs': [],
    '/v1/cluster/health': { status: 'ok', alarms: [] },
  });
  vi.stubGlobal('fetch', async (path: string) => {
    if (replies[path] === undefined) throw new TypeError('unreachable');
    return new Response(JSON.stringify(replies[path]));
  });
});

function show(props: { problems?: Problem[]; stale?: 'lost' | 'late' | 'waiting' } = {}) {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  render(
    <MantineProvider>
      <QueryClientProvider client={client}>
        <Health problems={props.problems ?? []} stale={props.stale ?? null} />
      </QueryClientProvider>
    </MantineProvider>,
  );
}

describe('Health', () => {
  it('reports a healthy cluster when all data is known and there are no problems', async () => {
    show();
    expect(await screen.findByText(/1\sshard are healthy/)).toBeTruthy();
  });

  it('does not report a healthy cluster while the alarms are unknown', async () => {
    delete replies['/v1/cluster/health'];
    show();
    expect(await screen.findByText(/could not be loaded/)).toBeTruthy();
    expect(screen.getByRole('button', { name: 'Try again' })).toBeTruthy();
    expect(screen.queryByText(/healthy/)).toBeNull();
  });

  it('states that the status is from the time when the connection was lost', async () => {
    show({ stale: 'lost' });
    expect(await screen.findByText(/Status when the connection was lost:/)).toBeTruthy();
  });

  it('is not green before the first sample', async () => {
    show({ stale: 'waiting' });
    const line = await screen.findByRole('heading', { name: /are healthy/ });
    expect(line.querySelector('svg')?.getAttribute('style')).toContain('--unknown');
  });

  it('states that the status is from the newest sample while samples are late', async () => {
    show({ stale: 'late' });
    expect(await screen.findByText(/Status as of the newest sample:/)).toBeTruthy();
  });
});
