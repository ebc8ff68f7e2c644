// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { fireEvent, render, screen, waitFor } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { nodesQuery, zonesOf } from '@/api/cluster/nodes';
import type { Node } from '@/api/types';
import { SetZone } from './SetZone';

const fetchMock = vi.fn();
const onClose = vi.fn();
const NODE = { uid: 2, rack_id: 'east', second_rack_id: '' } as Node;

beforeEach(() => vi.stubGlobal('fetch', fetchMock));
afterEach(() => {
  fetchMock.mockReset();
  onClose.mockReset();
  vi.unstubAllGlobals();
});

function show() {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity } } });
  client.setQueryData(nodesQuery.queryKey, [NODE]);
  render(
    <MantineProvider>
      <QueryClientProvider client={client}>
        <SetZone node={NODE} onClose={onClose} />
      </QueryClientProvider>
    </MantineProvider>,
  );
}

const submit = () => screen.getByRole<HTMLButtonElement>('button', { name: 'Set zone' });
const type = (label: string, value: string) =>
  fireEvent.change(screen.getByLabelText(label), { target: { value } });

describe('SetZone', () => {
  it('sends both zones', async () => {
    fetchMock.mockImplementation(async () => Response.json({ ...NODE, rack_id: 'west' }));
    show();
    type('Zone', 'west');
    fireEvent.click(submit());
    await waitFor(() => expect(onClose).toHaveBeenCalled());
    const [url, options] = fetchMock.mock.lastCall ?? [];
    expect([url, options.method]).toEqual(['/v1/nodes/2', 'PUT']);
    expect(JSON.parse(options.body)).toEqual({ rack_id: 'west', second_rack_id: '' });
  });

  it('rejects names that the console does not accept', () => {
    show();
    for (const invalid of ['1a', 'a b', 'a-', 'a'.repeat(64)]) {
      type('Second zone', invalid);
      expect(submit().disabled).toBe(true);
    }
    type('Second zone', 'row_2');
    expect(submit().disabled).toBe(false);
  });
});

it('lists zones once, regardless of case', () => {
  const ids = ['west', 'East', 'east', ''];
  expect(zonesOf(ids.map((rack_id) => ({ rack_id })))).toEqual(['East', 'west']);
});
