// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { fireEvent, render, screen, waitFor } from '@testing-library/react';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { Scenario } from '@/api/types';
import { StartScenario } from './StartScenario';

const SCENARIO = {
  name: 'load-test',
  title: 'Highest throughput',
  fit: { scale: 0.01, limited_by: 'memory', description: '', deviations: [] },
} as unknown as Scenario;

const problems: { code: string; description: string }[] = [];
const sent: { path: string; body: Record<string, unknown> }[] = [];

beforeEach(() => {
  problems.length = 0;
  sent.length = 0;
  vi.stubGlobal('fetch', async (path: string, { body }: { body: string | null }) => {
    if (path === '/v1/nodes') return new Response('[]');
    const size = JSON.parse(body ?? '{}');
    sent.push({ path, body: size });
    const plan = { ...size, parts: [], seconds: 90, memory: 2 ** 30, flash: 0, keys: 1_000 };
    const reply = { uid: 7, ...plan, load_nodes: [1], problems, deviations: ['6 shards, not 90.'] };
    return new Response(JSON.stringify(reply));
  });
});

function show() {
  const onStarted = vi.fn();
  render(
    <MantineProvider>
      <QueryClientProvider client={new QueryClient()}>
        <StartScenario scenario={SCENARIO} onStarted={onStarted} onClose={() => undefined} />
      </QueryClientProvider>
    </MantineProvider>,
  );
  return onStarted;
}

const button = () => screen.getByRole<HTMLButtonElement>('button', { name: 'Start run' });

describe('StartScenario', () => {
  it('starts a run at the scale that fits, and keeps the databases only on request', async () => {
    const onStarted = show();
    expect(await screen.findByText('6 shards, not 90.')).toBeTruthy();
    expect(screen.getByText('1/100 of the published size')).toBeTruthy();
    fireEvent.click(screen.getByLabelText('Keep the databases after the run'));
    await waitFor(() => expect(button().disabled).toBe(false));
    fireEvent.click(button());
    await waitFor(() => expect(onStarted).toHaveBeenCalled());
    expect(sent[0]).toEqual({
      path: '/v1/scenarios/load-test/preflight',
      body: { scale: 0.01, keep: false, load_nodes: [] },
    });
    expect(sent.at(-1)).toEqual({
      path: '/v1/scenario_runs',
      body: { scenario: 'load-test', scale: 0.01, keep: true, load_nodes: [] },
    });
  });

  it('does not start a run with a problem or an invalid scale', async () => {
    problems.push({ code: 'memory', description: 'Not enough memory.' });
    show();
    expect(await screen.findByText('Not enough memory.')).toBeTruthy();
    expect(button().disabled).toBe(true);
    fireEvent.change(screen.getByLabelText('Scale'), { target: { value: '20' } });
    expect(await screen.findByText('Enter 0.000001 to 10.')).toBeTruthy();
    expect(button().disabled).toBe(true);
    expect(sent.filter(({ path }) => path === '/v1/scenario_runs')).toEqual([]);
  });
});
