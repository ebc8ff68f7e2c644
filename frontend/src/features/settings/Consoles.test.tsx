// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { fireEvent, render, screen, waitFor, within } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Consoles } from './Consoles';

const sent: string[] = [];
let count = 3;

const consoleRow = (uid: string, fields: Record<string, unknown> = {}) => ({
  uid,
  host: `${uid}.example.org`,
  address: `https://${uid}.example.org:9443`,
  version: '1.0',
  release: 4,
  status: 'running',
  is_leader: false,
  leader_since: null,
  leader_reason: null,
  is_current: false,
  started_at: '2026-01-01T00:00:00Z',
  seen_at: '2026-01-01T00:00:00Z',
  store_delay_ms: 1.25,
  agents_reached: 3,
  ...fields,
});

beforeEach(() => {
  sent.length = 0;
  count = 3;
  vi.stubGlobal('fetch', async (path: string, options: { method?: string } = {}) => {
    if (options.method && options.method !== 'GET') {
      sent.push(`${options.method} ${path}`);
      return Response.json({});
    }
    return Response.json(
      [
        consoleRow('a', {
          is_leader: true,
          is_current: true,
          leader_since: '2026-01-01T00:00:00Z',
          leader_reason: 'expired',
        }),
        consoleRow('b'),
        consoleRow('c', { status: 'lost' }),
      ].slice(0, count),
    );
  });
});
afterEach(() => vi.unstubAllGlobals());

const show = (may = true) =>
  render(
    <MantineProvider>
      <QueryClientProvider client={new QueryClient()}>
        <Consoles may={may} />
      </QueryClientProvider>
    </MantineProvider>,
  );
const rowOf = async (host: string) => {
  const row = (await screen.findByText(host)).closest('tr');
  if (!row) throw new Error(`${host} is not in a table`);
  return within(row);
};

describe('Consoles', () => {
  it('shows the leader and the status of the others', async () => {
    show();
    expect((await rowOf('a.example.org')).getByText(/Leader for/)).toBeTruthy();
    expect((await rowOf('b.example.org')).getByText('Running')).toBeTruthy();
    expect((await rowOf('c.example.org')).getByText('Lost')).toBeTruthy();
  });

  it('shows the release of each console, and why the leader changed', async () => {
    show();
    expect((await rowOf('b.example.org')).getByText('4')).toBeTruthy();
    expect(screen.getByText(/a\.example\.org became the leader/).textContent).toMatch(
      /: the former leader failed, or could not reach the store\.$/,
    );
  });

  it('is hidden if there is only one console', async () => {
    count = 1;
    const { container } = show();
    await waitFor(() => expect(container.querySelector('table')).toBeNull());
  });

  it('makes another console the leader after confirmation', async () => {
    show();
    fireEvent.click((await rowOf('b.example.org')).getByRole('button', { name: 'Make leader…' }));
    fireEvent.click(await screen.findByRole('button', { name: 'Make leader' }));
    await waitFor(() => expect(sent).toEqual(['POST /v1/consoles/b/actions/lead']));
  });

  it('removes a lost console after confirmation', async () => {
    show();
    fireEvent.click((await rowOf('c.example.org')).getByRole('button', { name: 'Remove…' }));
    fireEvent.click(await screen.findByRole('button', { name: 'Remove console' }));
    await waitFor(() => expect(sent).toEqual(['DELETE /v1/consoles/c']));
  });

  it('disables operations for roles without the permission', async () => {
    show(false);
    const button = (await rowOf('b.example.org')).getByRole('button', { name: 'Make leader…' });
    expect(button.hasAttribute('disabled')).toBe(true);
  });
});
