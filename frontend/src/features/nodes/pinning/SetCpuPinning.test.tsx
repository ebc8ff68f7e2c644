// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { fireEvent, render, screen, waitFor } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Node } from '@/api/types';
import { SetCpuPinning } from './SetCpuPinning';

const fetchMock = vi.fn();
const onClose = vi.fn();
const NODE = {
  uid: 2,
  cores: 4,
  cpu_pinning: { mode: 'cores', shards: '1-3', proxy: '0', cores_per_shard: 1 },
} as Node;

beforeEach(() => vi.stubGlobal('fetch', fetchMock));
afterEach(() => {
  fetchMock.mockReset();
  onClose.mockReset();
  vi.unstubAllGlobals();
});

function show() {
  render(
    <MantineProvider>
      <QueryClientProvider client={new QueryClient()}>
        <SetCpuPinning node={NODE} onClose={onClose} />
      </QueryClientProvider>
    </MantineProvider>,
  );
}

const submit = () => fireEvent.click(screen.getByRole('button', { name: 'Set pinning' }));
const choose = (mode: string) => fireEvent.click(screen.getByRole('radio', { name: mode }));
const sent = () => JSON.parse(fetchMock.mock.lastCall?.[1].body).cpu_pinning;

describe('SetCpuPinning', () => {
  it('sends only fields of the mode', async () => {
    fetchMock.mockImplementation(async () => Response.json(NODE));
    show();
    choose('One NUMA node per shard');
    submit();
    await waitFor(() => expect(onClose).toHaveBeenCalledTimes(1));
    expect(sent()).toEqual({ mode: 'numa', shards: '', proxy: '0', cores_per_shard: 0 });
    choose('All cores');
    submit();
    await waitFor(() => expect(onClose).toHaveBeenCalledTimes(2));
    expect(sent()).toEqual({ mode: 'off', shards: '', proxy: '', cores_per_shard: 0 });
  });

  it('shows an error at its field and stays open', async () => {
    const description =
      'cpu_pinning.shards: cores 9 do not exist or are offline; available are 0-3.';
    const refusal = { error_code: 'bad_request', field: 'cpu_pinning.shards', description };
    fetchMock.mockImplementation(async () => Response.json(refusal, { status: 400 }));
    show();
    fireEvent.change(screen.getByLabelText('Cores of shards'), { target: { value: '9' } });
    submit();
    await screen.findByText('Cores 9 do not exist or are offline; available are 0-3.');
    expect(sent().shards).toBe('9');
    expect(onClose).not.toHaveBeenCalled();
  });
});
