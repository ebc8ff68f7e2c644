// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { fireEvent, render, screen, waitFor } from '@testing-library/react';
import { beforeEach, expect, it, vi } from 'vitest';
import { ApiError } from '@/api/http';
import type { Benchmark } from '@/api/types';
import { benchmarkRequest, EMPTY_RUN_DRAFT } from './form/runDraft';
import { RunAgain } from './RunAgain';

const navigate = vi.fn();
const startBenchmark = vi.fn();
vi.mock('@tanstack/react-router', () => ({ Link: () => null, useNavigate: () => navigate }));
vi.mock('@/api/benchmarks', () => ({ startBenchmark: (body: unknown) => startBenchmark(body) }));

const DRAFT = { ...EMPTY_RUN_DRAFT, name: 'load', bdb: 3, overwrite: true };
const RUN = {
  ...benchmarkRequest(DRAFT),
  uid: 7,
  drill: null,
  notes: 'why',
  tags: [],
  scenario: 'load-test',
} as unknown as Benchmark;

beforeEach(() => {
  navigate.mockReset();
  render(
    <MantineProvider>
      <QueryClientProvider client={new QueryClient()}>
        <RunAgain run={RUN} />
      </QueryClientProvider>
    </MantineProvider>,
  );
});

const runAgain = () => fireEvent.click(screen.getByRole('button', { name: 'Run again' }));

it('starts a run with all settings and opens its page', async () => {
  startBenchmark.mockResolvedValueOnce({ uid: 8 });
  runAgain();
  await waitFor(() =>
    expect(navigate).toHaveBeenCalledWith({ to: '/benchmarks/$uid', params: { uid: '8' } }),
  );
  expect(startBenchmark).toHaveBeenCalledWith({
    ...benchmarkRequest(DRAFT),
    notes: 'why',
    tags: [],
    scenario: 'load-test',
  });
});

it('opens the form if an agreement is required', async () => {
  startBenchmark.mockRejectedValueOnce(new ApiError(409, 'benchmark_foreign_keys', 'Keys.'));
  runAgain();
  await waitFor(() =>
    expect(navigate).toHaveBeenCalledWith({ to: '/benchmarks/new', search: { repeat: 7 } }),
  );
});

it('shows why a run cannot be started', async () => {
  startBenchmark.mockRejectedValueOnce(
    new ApiError(404, 'db_not_found', 'Database 3 does not exist.'),
  );
  runAgain();
  expect((await screen.findByRole('alert')).textContent).toContain('Database 3 does not exist.');
  expect(navigate).not.toHaveBeenCalled();
});
