// @dom
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { act, renderHook } from '@testing-library/react';
import type { ReactNode } from 'react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { sessionQuery } from '../access/session';
import type { Session } from '../types';
import { eventsQuery } from './events';
import { useActiveAlarms } from './health';

const fetched = vi.fn(async () => Response.json({ status: 'ok', alarms: [] }));

beforeEach(() => {
  vi.useFakeTimers();
  fetched.mockClear();
  vi.stubGlobal('fetch', fetched);
});
afterEach(() => vi.useRealTimers());

const pass = (milliseconds: number) => act(() => vi.advanceTimersByTimeAsync(milliseconds));

async function watch(role: string) {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity } } });
  client.setQueryData(sessionQuery.queryKey, { role } as Session);
  client.setQueryData(eventsQuery.queryKey, []);
  const wrapper = ({ children }: { children: ReactNode }) => (
    <QueryClientProvider client={client}>{children}</QueryClientProvider>
  );
  const { result } = renderHook(useActiveAlarms, { wrapper });
  await pass(100);
  expect(result.current).toEqual([]);
}

describe('useActiveAlarms', () => {
  it('polls for roles whose stream has no events', async () => {
    await watch('db_viewer');
    await pass(25_000);
    expect(fetched).toHaveBeenCalledTimes(3);
  });

  it('fetches once for roles whose stream has all events', async () => {
    await watch('db_member');
    await pass(25_000);
    expect(fetched).toHaveBeenCalledTimes(1);
  });
});
