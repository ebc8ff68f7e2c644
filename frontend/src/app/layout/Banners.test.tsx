// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { fireEvent, render, screen } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Problem } from '@/features/overview/problems';
import { consoleNow } from '@/lib/time';
import type { SwitchState } from '@/live/consoles/consoleSwitch';
import { continuedFrom } from '@/live/consoles/continuedFrom';
import type { StreamState } from '@/live/stream/stream';
import { Banners } from './Banners';

const now = vi.hoisted(() => ({
  stream: { phase: 'live' } as StreamState,
  drawError: null as string | null,
  problems: [] as Problem[],
  retried: 0,
  consoles: { phase: 'none' } as SwitchState,
  continued: 0,
}));

vi.mock('@tanstack/react-router', () => ({
  Link: ({ children }: { children: string }) => <a href="/">{children}</a>,
  useLocation: () => ({ pathname: '/databases' }),
}));
vi.mock('@/live/LiveProvider', () => ({
  useLive: () => ({ retryNow: () => (now.retried += 1) }),
  useStreamState: () => now.stream,
  useDrawError: () => now.drawError,
  useConsoleSwitch: () => ({
    state: now.consoles,
    consoles: CONSOLES,
    continueNow: () => (now.continued += 1),
  }),
}));
vi.mock('../useProblems', () => ({ useProblems: () => now.problems }));

const consoleOn = (host: string, current = false) => ({
  uid: `uid of ${host}`,
  host,
  origin: `https://${host}:9443`,
  running: true,
  current,
});
const CONSOLES = [consoleOn('alpha'), consoleOn('beta', true)] as const;

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
    Object.assign(now, { consoles: { phase: 'none' }, continued: 0 });
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

  it('show on which console the page continues', () => {
    now.stream = lost(1, 2);
    now.consoles = { phase: 'leaving', lost: CONSOLES[0], target: CONSOLES[1] };
    show();
    expect(screen.getByRole('status').textContent).toBe(
      'Console alpha does not answer. Continuing on beta.',
    );
  });

  it('ask before input is lost', () => {
    now.stream = lost(1, 2);
    now.consoles = { phase: 'asking', lost: CONSOLES[0], target: CONSOLES[1] };
    show();
    screen.getByText(/the input in the form on this page will be lost/);
    fireEvent.click(screen.getByRole('button', { name: 'Continue on beta' }));
    expect(now.continued).toBe(1);
  });

  it('show from which console the page came, until the user dismisses it', () => {
    continuedFrom.set(CONSOLES[0].uid);
    show();
    screen.getByText('Console alpha did not answer. This page continues on beta.');
    fireEvent.click(screen.getByRole('button', { name: 'Dismiss' }));
    expect(screen.getByRole('status').textContent).toBe('');
  });

  it('show no text of a link that names an unknown console', () => {
    continuedFrom.set('<b>alpha</b>');
    show();
    expect(screen.getByRole('status').textContent).toBe('');
    continuedFrom.set(null);
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
    const link = { to: '/activity/timeline' } as const;
    now.problems = [
      { tone: 'broken', text: 'Node 2 has been down', banner: true, link },
      { tone: 'attention', text: 'orders could not be created', banner: false, link },
    ];
    show();
    expect(screen.getByText('Node 2 has been down')).toBeTruthy();
    expect(screen.queryByText(/could not be created/)).toBeNull();
  });
});
