// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { fireEvent, render, screen, waitFor } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { AuditCheck } from '@/api/types';
import { AuditChain } from './AuditChain';

const WHOLE: AuditCheck = { whole: true, lines: 7, first_uid: 1, last_uid: 7, faults: [] };
const answered = vi.fn();
let check: () => Response;

beforeEach(() => {
  vi.stubGlobal('fetch', answered);
  check = () => Response.json(WHOLE);
  answered.mockImplementation(async () => check());
});
afterEach(() => {
  answered.mockReset();
  vi.unstubAllGlobals();
});

function show() {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  render(
    <MantineProvider>
      <QueryClientProvider client={client}>
        <AuditChain />
      </QueryClientProvider>
    </MantineProvider>,
  );
}

describe('AuditChain', () => {
  it('says that the trail is whole', async () => {
    show();
    expect(await screen.findByText(/^Whole: 7\slines/)).toBeTruthy();
  });

  it('says what was done to it, and looks again', async () => {
    check = () =>
      Response.json({ ...WHOLE, whole: false, lines: 6, faults: ['Line 3 is missing.'] });
    show();
    expect(await screen.findByText('The trail was tampered with')).toBeTruthy();
    expect(screen.getByText('Line 3 is missing.')).toBeTruthy();
    check = () => Response.json(WHOLE);
    fireEvent.click(screen.getByRole('button', { name: 'Check again' }));
    await waitFor(() => expect(screen.queryByText('Line 3 is missing.')).toBeNull());
  });

  it('says when it cannot be looked at', async () => {
    check = () =>
      Response.json({ error_code: 'x', description: 'The store is away.' }, { status: 503 });
    show();
    expect(await screen.findByText('The store is away.')).toBeTruthy();
  });
});
