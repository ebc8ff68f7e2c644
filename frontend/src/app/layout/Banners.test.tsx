// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { fireEvent, render, screen } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Trouble } from '@/features/overview/health';
import { correctedNow } from '@/lib/time';
import type { StreamState } from '@/live/stream';
import { Banners } from './Banners';

const now = vi.hoisted(() => ({
  stream: { phase: 'live' } as StreamState,
  fault: null as string | null,
  troubles: [] as Trouble[],
  retried: 0,
}));

vi.mock('@tanstack/react-router', () => ({
  Link: ({ children }: { children: string }) => <a href="/">{children}</a>,
  useLocation: () => ({ pathname: '/databases' }),
}));
vi.mock('@/live/LiveProvider', () => ({
  useLive: () => ({ retryNow: () => (now.retried += 1) }),
  useStreamState: () => now.stream,
  useFault: () => now.fault,
}));
vi.mock('../useTroubles', () => ({ useTroubles: () => now.troubles }));

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
  since: correctedNow() - seconds * 1000,
  attempt,
  retryAt: correctedNow() + 4_000,
});

describe('Banners', () => {
  // The time of day stands still: a busy machine takes seconds to show something.
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['Date'] });
    Object.assign(now, { stream: { phase: 'live' }, fault: null, troubles: [], retried: 0 });
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  it('are silent while all is well', () => {
    show();
    expect(screen.getByRole('status').textContent).toBe('');
  });

  it('tell that the stream is lost, since when, and try again at once when told', () => {
    now.stream = lost(12, 3);
    show();
    expect(screen.getByText(/Connection to the console lost/).textContent).toMatch(
      /lost 12\ss ago.*Attempt 4 in 4 s/,
    );
    fireEvent.click(screen.getByRole('button', { name: 'Retry now' }));
    expect(now.retried).toBe(1);
  });

  it('do not mention a break that mends itself', () => {
    now.stream = lost(0, 1);
    show();
    expect(screen.queryByText(/Connection to the console lost/)).toBeNull();
  });

  it('tell that a part of the page does not follow', () => {
    now.fault = 'no such series';
    show();
    expect(screen.getByText(/does not follow the newest samples: no such series/)).toBeTruthy();
  });

  it('tell what is worth a banner on every page, and nothing less', () => {
    const link = { to: '/timeline' } as const;
    now.troubles = [
      { tone: 'broken', text: 'Node 2 has been down', banner: true, link },
      { tone: 'attention', text: 'orders could not be created', banner: false, link },
    ];
    show();
    expect(screen.getByText('Node 2 has been down')).toBeTruthy();
    expect(screen.queryByText(/could not be created/)).toBeNull();
  });
});
