// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { act, fireEvent, render, screen, waitFor } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { bdbsQuery } from '@/api/databases/bdbs';
import type { Bdb } from '@/api/types';
import { ShardCertificates } from './ShardCertificates';

vi.mock('@tanstack/react-router', () => ({
  Link: ({ children }: { children: string }) => <a href="/">{children}</a>,
}));

const requests: unknown[] = [];
let replacing = '';
let encrypted = [7];

beforeEach(() => {
  requests.length = 0;
  replacing = '';
  encrypted = [7];
  vi.stubGlobal('fetch', async (_path: string, init: RequestInit) => {
    if (init.method === 'POST') {
      requests.push(JSON.parse(String(init.body)));
      replacing = 'announced';
      return Response.json({ databases: 1 });
    }
    return Response.json({
      data_internode_encryption: encrypted.map((uid) => ({
        uid,
        certificate: 'PEM',
        valid_until: '2027-02-01T00:00:00Z',
        authority: 'ab'.repeat(32),
        replacing,
      })),
    });
  });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

function show(may = true) {
  const client = new QueryClient({
    defaultOptions: { queries: { retry: 0, staleTime: Infinity } },
  });
  client.setQueryData(bdbsQuery.queryKey, [{ uid: 7, name: 'orders' } as Bdb]);
  render(
    <MantineProvider env="test">
      <QueryClientProvider client={client}>
        <ShardCertificates may={may} />
      </QueryClientProvider>
    </MantineProvider>,
  );
}
const button = (name: string) => screen.getByRole('button', { name }) as HTMLButtonElement;

describe('ShardCertificates', () => {
  it('renews certificates and replaces CAs', async () => {
    show();
    await screen.findByText('orders');
    screen.getByText('SHA-256 abababababababab…');
    fireEvent.click(button('Renew certificates…'));
    fireEvent.click(button('Renew certificates'));
    await waitFor(() => expect(requests).toEqual([{}]));
    await waitFor(() => expect(screen.queryByText(/remain valid until they expire/)).toBeNull());
    fireEvent.click(button('Replace CAs…'));
    fireEvent.click(button('Replace CAs'));
    await waitFor(() => expect(requests).toEqual([{}, { authority: true }]));
    await screen.findByText('Step 1 of 3: the next CA is also trusted');
  });

  it('shows each step until the replacement is complete', async () => {
    vi.useFakeTimers();
    replacing = 'shown';
    show();
    const pass = () => act(() => vi.advanceTimersByTimeAsync(4000));
    await pass();
    screen.getByText('Step 2 of 3: certificates of the next CA are served');
    replacing = 'forgotten';
    await pass();
    screen.getByText('Step 3 of 3: the previous CA is removed');
    replacing = '';
    await pass();
    screen.getByText('SHA-256 abababababababab…');
  });

  it('disables the replacement if no database is encrypted', async () => {
    encrypted = [];
    show();
    await screen.findByText(/No database uses encryption/);
    expect(button('Replace CAs…').disabled).toBe(true);
  });

  it('is read-only for roles without the permission', async () => {
    show(false);
    await screen.findByText('orders');
    expect(button('Renew certificates…').disabled).toBe(true);
    expect(button('Replace CAs…').title).not.toBe('');
  });
});
