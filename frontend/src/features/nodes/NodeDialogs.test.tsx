// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { render, screen } from '@testing-library/react';
import type { ReactNode } from 'react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Node } from '@/api/types';
import { BeginMaintenance, RemoveNode } from './NodeDialogs';

const SAID = 'Clients of shop must change from 10.0.0.2:12000 to 10.0.0.1:12000: …';
const answered = vi.fn(async (path: string) =>
  Response.json(path.includes('address_changes') ? [{ bdb_uid: 1, sentence: SAID }] : []),
);
const node = { uid: 2, status: 'active', agent_status: 'connected' } as Node;

beforeEach(() => vi.stubGlobal('fetch', answered));
afterEach(() => {
  answered.mockClear();
  vi.unstubAllGlobals();
});

function show(dialog: ReactNode) {
  render(
    <MantineProvider>
      <QueryClientProvider client={new QueryClient()}>{dialog}</QueryClientProvider>
    </MantineProvider>,
  );
}

const asked = () => answered.mock.calls.map(([path]) => path);

describe('before a node is emptied', () => {
  it('is said which address clients must leave for maintenance', async () => {
    show(<BeginMaintenance node={node} onClose={vi.fn()} />);
    await screen.findByText(SAID);
    expect(asked()).toContain('/v1/nodes/2/address_changes?order=maintenance_on');
  });

  it('is said which address clients must leave for its removal', async () => {
    show(<RemoveNode node={node} onClose={vi.fn()} />);
    await screen.findByText(SAID);
    expect(asked()).toContain('/v1/nodes/2/address_changes?order=remove');
  });
});
