// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { fireEvent, render, screen, waitFor } from '@testing-library/react';
import { describe, expect, it, vi } from 'vitest';
import { sessionQuery } from '@/api/access/session';
import type { Bdb, Session } from '@/api/types';
import { TrafficStopped } from './TrafficStopped';

function show(reply: () => Response, role = 'admin', status = 'active') {
  const fetched = vi.fn(async (_path: string, _init: RequestInit) => reply());
  vi.stubGlobal('fetch', fetched);
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity } } });
  client.setQueryData(sessionQuery.queryKey, { role } as Session);
  render(
    <MantineProvider>
      <QueryClientProvider client={client}>
        <TrafficStopped bdb={{ uid: 7, name: 'orders', status } as Bdb} />
      </QueryClientProvider>
    </MantineProvider>,
  );
  return fetched;
}

const resume = () => screen.getByRole('button', { name: 'Resume traffic' });

describe('TrafficStopped', () => {
  it('resumes traffic', async () => {
    const fetched = show(() => Response.json({ action_uid: 'a', description: '' }));
    fireEvent.click(resume());
    await waitFor(() => expect(fetched).toHaveBeenCalled());
    const [path, init] = fetched.mock.calls[0] ?? [];
    expect([path, init?.method]).toEqual(['/v1/bdbs/7/actions/resume_traffic', 'POST']);
  });

  it('shows why traffic cannot be resumed now', async () => {
    const body = { error_code: 'busy', description: 'Database orders is changing.' };
    show(() => Response.json(body, { status: 409 }));
    fireEvent.click(resume());
    expect(await screen.findByText('Database orders is changing.')).toBeTruthy();
  });

  it('is disabled for read-only roles', () => {
    show(() => Response.json({}), 'db_viewer');
    expect(resume().hasAttribute('disabled')).toBe(true);
  });

  it('is disabled while a change is in progress', () => {
    show(() => Response.json({}), 'admin', 'active-change-pending');
    expect(resume().hasAttribute('disabled')).toBe(true);
  });
});
