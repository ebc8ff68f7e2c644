// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { fireEvent, render, screen, waitFor } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Node, NodeUpgrade } from '@/api/types';
import { UpgradeNode } from './UpgradeNode';

const fetchMock = vi.fn();
const SHOP: NodeUpgrade = {
  bdb_uid: 1,
  name: 'shop',
  description: 'Upgrade of 2 shards of shop to Valkey 9.1.2',
  steps: ['Replace replica redis:4 on node 2', 'Replace primary redis:1 on node 1'],
  refused: '',
  action_uid: '',
};
const CART: NodeUpgrade = {
  ...SHOP,
  bdb_uid: 2,
  name: 'cart',
  description: '',
  steps: [],
  refused: 'Another action is running on cart; try again when it is done.',
};

beforeEach(() => vi.stubGlobal('fetch', fetchMock));
afterEach(() => {
  fetchMock.mockReset();
  vi.unstubAllGlobals();
});

function openDialog(databases: NodeUpgrade[]) {
  fetchMock.mockImplementation(async () => Response.json({ databases }));
  const onClose = vi.fn();
  render(
    <MantineProvider>
      <QueryClientProvider client={new QueryClient()}>
        <UpgradeNode node={{ uid: 3 } as Node} onClose={onClose} />
      </QueryClientProvider>
    </MantineProvider>,
  );
  return onClose;
}

const upgradeButton = () =>
  screen.getByRole<HTMLButtonElement>('button', { name: 'Upgrade databases' });

describe('UpgradeNode', () => {
  it('shows the plan for each database before the upgrade starts', async () => {
    const onClose = openDialog([SHOP, CART]);
    await screen.findByText(SHOP.description);
    await screen.findByText(/is not upgraded. Another action is running on cart/);
    expect(fetchMock.mock.calls.map(([path]) => path)).toEqual(['/v1/nodes/3/upgrade?dry_run']);
    fireEvent.click(upgradeButton());
    await waitFor(() => expect(onClose).toHaveBeenCalled());
    expect(fetchMock.mock.lastCall?.[0]).toBe('/v1/nodes/3/upgrade');
  });

  it('disables the upgrade if no database can be upgraded', async () => {
    openDialog([CART]);
    await screen.findByText(/is not upgraded/);
    expect(upgradeButton().disabled).toBe(true);
  });

  it('reports that all shards are up to date', async () => {
    openDialog([]);
    await screen.findByText(
      'All shards of its databases already run the engine version of their nodes.',
    );
    expect(upgradeButton().disabled).toBe(true);
  });
});
