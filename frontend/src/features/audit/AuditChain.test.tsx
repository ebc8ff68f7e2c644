// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { fireEvent, render, screen, waitFor } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { AuditCheck } from '@/api/types';
import { AuditChain } from './AuditChain';

const INTACT: AuditCheck = { whole: true, lines: 7, first_uid: 1, last_uid: 7, faults: [] };
const answered = vi.fn();
let check: () => Response;

beforeEach(() => {
  vi.stubGlobal('fetch', answered);
  check = () => Response.json(INTACT);
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
  it('reports an intact audit log', async () => {
    show();
    expect(await screen.findByText(/^Intact: 7\srecords/)).toBeTruthy();
  });

  it('reports tampering, and checks again', async () => {
    check = () =>
      Response.json({ ...INTACT, whole: false, lines: 6, faults: ['Line 3 is missing.'] });
    show();
    expect(await screen.findByText('The audit log was tampered with')).toBeTruthy();
    expect(screen.getByText('Line 3 is missing.')).toBeTruthy();
    check = () => Response.json(INTACT);
    fireEvent.click(screen.getByRole('button', { name: 'Check again' }));
    await waitFor(() => expect(screen.queryByText('Line 3 is missing.')).toBeNull());
  });

  it('shows why the check failed', async () => {
    check = () =>
      Response.json({ error_code: 'x', description: 'The store is unavailable.' }, { status: 503 });
    show();
    expect(await screen.findByText('The store is unavailable.')).toBeTruthy();
  });
});
