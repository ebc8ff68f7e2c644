// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { render, screen } from '@testing-library/react';
import type { ReactNode } from 'react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Node } from '@/api/types';
import { RemoveNode, StartMaintenance } from './NodeDialogs';

const NOTICE = 'Clients of shop must change from 10.0.0.2:12000 to 10.0.0.1:12000: …';
const fetchMock = vi.fn(async (path: string) =>
  Response.json(path.includes('address_changes') ? [{ bdb_uid: 1, sentence: NOTICE }] : []),
);
const node = { uid: 2, status: 'active', agent_status: 'connected' } as Node;

beforeEach(() => vi.stubGlobal('fetch', fetchMock));
afterEach(() => {
  fetchMock.mockClear();
  vi.unstubAllGlobals();
});

function renderDialog(dialog: ReactNode) {
  render(
    <MantineProvider>
      <QueryClientProvider client={new QueryClient()}>{dialog}</QueryClientProvider>
    </MantineProvider>,
  );
}

const requestedPaths = () => fetchMock.mock.calls.map(([path]) => path);

describe('node dialogs', () => {
  it('shows which address clients must change for maintenance', async () => {
    renderDialog(<StartMaintenance node={node} onClose={vi.fn()} />);
    await screen.findByText(NOTICE);
    expect(requestedPaths()).toContain('/v1/nodes/2/address_changes?order=maintenance_on');
  });

  it('shows which address clients must change for the removal of a node', async () => {
    renderDialog(<RemoveNode node={node} onClose={vi.fn()} />);
    await screen.findByText(NOTICE);
    expect(requestedPaths()).toContain('/v1/nodes/2/address_changes?order=remove');
  });
});
