// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { fireEvent, render, screen } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Problem } from '@/features/overview/problems';
import { consoleNow } from '@/lib/time';
import type { StreamState } from '@/live/stream/stream';
import { Banners } from './Banners';

const now = vi.hoisted(() => ({
  stream: { phase: 'live' } as StreamState,
  drawError: null as string | null,
  problems: [] as Problem[],
  retried: 0,
}));

vi.mock('@tanstack/react-router', () => ({
  Link: ({ children }: { children: string }) => <a href="/">{children}</a>,
  useLocation: () => ({ pathname: '/databases' }),
}));
vi.mock('@/live/LiveProvider', () => ({
  useLive: () => ({ retryNow: () => (now.retried += 1) }),
  useStreamState: () => now.stream,
  useDrawError: () => now.drawError,
}));
vi.mock('../useProblems', () => ({ useProblems: () => now.problems }));

function show() {
  const client = new QueryClient({ defaultOptions: { queries: { staleTime: Infinity } } });
  client.setQueryData(['actions'], []);
  render(
    <MantineProvider>
      <QueryClientProvider client={client}>
        <Banners />
      </QueryClientProvider>
    </MantineProvider>,
  );
}

const lost = (seconds: number, attempt: number): StreamState => ({
  phase: 'lost',
  since: consoleNow() - seconds * 1000,
  attempt,
  retryAt: consoleNow() + 4_000,
});

describe('Banners', () => {
  // The clock is stopped, because rendering can take seconds on a busy machine.
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['Date'] });
    Object.assign(now, { stream: { phase: 'live' }, drawError: null, problems: [], retried: 0 });
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  it('are empty without problems', () => {
    show();
    expect(screen.getByRole('status').textContent).toBe('');
  });

  it('show that the connection is lost, since when, and retry on request', () => {
    now.stream = lost(12, 3);
    show();
    expect(screen.getByText(/Connection to the console lost/).textContent).toMatch(
      /lost 12\ss ago.*Attempt 4 in 4 s/,
    );
    fireEvent.click(screen.getByRole('button', { name: 'Retry now' }));
    expect(now.retried).toBe(1);
  });

  it('do not show short interruptions', () => {
    now.stream = lost(0, 1);
    show();
    expect(screen.queryByText(/Connection to the console lost/)).toBeNull();
  });

  it('show that part of the page is not live', () => {
    now.drawError = 'no such series';
    show();
    expect(screen.getByText(/does not show the newest samples: no such series/)).toBeTruthy();
  });

  it('show only problems that have a banner on every page', () => {
    const link = { to: '/timeline' } as const;
    now.problems = [
      { tone: 'broken', text: 'Node 2 has been down', banner: true, link },
      { tone: 'attention', text: 'orders could not be created', banner: false, link },
    ];
    show();
    expect(screen.getByText('Node 2 has been down')).toBeTruthy();
    expect(screen.queryByText(/could not be created/)).toBeNull();
  });
});
