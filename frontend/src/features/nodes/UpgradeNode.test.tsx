// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { fireEvent, render, screen, waitFor } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Node, NodeUpgrade } from '@/api/types';
import { UpgradeNode } from './UpgradeNode';

const answered = vi.fn();
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

beforeEach(() => vi.stubGlobal('fetch', answered));
afterEach(() => {
  answered.mockReset();
  vi.unstubAllGlobals();
});

function open(databases: NodeUpgrade[]) {
  answered.mockImplementation(async () => Response.json({ databases }));
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

const action = () => screen.getByRole<HTMLButtonElement>('button', { name: 'Upgrade' });

describe('UpgradeNode', () => {
  it('shows what becomes of each database before it orders it', async () => {
    const onClose = open([SHOP, CART]);
    await screen.findByText(SHOP.description);
    await screen.findByText(/is left as it is. Another action is running on cart/);
    expect(answered.mock.calls.map(([path]) => path)).toEqual(['/v1/nodes/3/upgrade?dry_run']);
    fireEvent.click(action());
    await waitFor(() => expect(onClose).toHaveBeenCalled());
    expect(answered.mock.lastCall?.[0]).toBe('/v1/nodes/3/upgrade');
  });

  it('orders nothing when no database can be upgraded', async () => {
    open([CART]);
    await screen.findByText(/is left as it is/);
    expect(action().disabled).toBe(true);
  });

  it('says so when there is nothing to do', async () => {
    open([]);
    await screen.findByText('Every shard of its databases runs the engine that its node has.');
    expect(action().disabled).toBe(true);
  });
});
