// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { fireEvent, render, screen, waitFor } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Bdb } from '@/api/types';
import { UpgradeDialog } from './UpgradeDialog';

const fetchMock = vi.fn();

beforeEach(() => vi.stubGlobal('fetch', fetchMock));
afterEach(() => {
  fetchMock.mockReset();
  vi.unstubAllGlobals();
});

function open(steps: string[]) {
  fetchMock.mockImplementation(async () =>
    Response.json({ description: 'Upgrade', steps, action_uid: 'a' }),
  );
  const onClose = vi.fn();
  render(
    <MantineProvider>
      <QueryClientProvider client={new QueryClient()}>
        <UpgradeDialog bdb={{ uid: 7, name: 'shop' } as Bdb} onClose={onClose} />
      </QueryClientProvider>
    </MantineProvider>,
  );
  return onClose;
}

const action = () => screen.getByRole<HTMLButtonElement>('button', { name: 'Upgrade' });

describe('UpgradeDialog', () => {
  it('shows the steps before it submits the upgrade', async () => {
    const onClose = open(['Replace replica redis:4 on node 2']);
    await screen.findByText('Replace replica redis:4 on node 2');
    expect(fetchMock).toHaveBeenCalledTimes(1);
    expect(fetchMock.mock.lastCall?.[0]).toBe('/v1/bdbs/7/upgrade?dry_run');
    fireEvent.click(action());
    await waitFor(() => expect(onClose).toHaveBeenCalled());
    expect(fetchMock.mock.lastCall?.[0]).toBe('/v1/bdbs/7/upgrade');
  });

  it('is disabled if all shards run the engine of their nodes', async () => {
    open([]);
    await screen.findByText('All shards already run the engine that is installed on their nodes.');
    expect(action().disabled).toBe(true);
  });
});
