// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { render, screen, within } from '@testing-library/react';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import type { Incident } from '@/api/types';
import { clockMs } from '@/lib/time';
import { T0 } from '../outageEvents.fixture';
import { IncidentTables } from './IncidentTables';
import { incidentWithEventsFixture } from './incident.fixture';

beforeEach(() => {
  vi.stubGlobal('fetch', async () => new Response('[]'));
});

function renderTables(part: Partial<Incident> = {}) {
  const client = new QueryClient({ defaultOptions: { queries: { retry: false } } });
  render(
    <MantineProvider>
      <QueryClientProvider client={client}>
        <IncidentTables incident={incidentWithEventsFixture(part)} now={T0 + 120_000} />
      </QueryClientProvider>
    </MantineProvider>,
  );
}

const rows = (name: string) =>
  within(screen.getByRole('table', { name }))
    .getAllByRole('row')
    .map((row) => (row.textContent ?? '').replaceAll('\u00a0', ' '));

describe('IncidentTables', () => {
  it('shows the client impact per database and the time of the promotion', () => {
    renderTables();
    expect(rows('Databases')[1]).toBe(
      `demofor 0.63 s${clockMs(T0 + 640, 'local')}0.22 s21.23 k10-5460`,
    );
    expect(screen.getByText('Drill ordered by ann')).toBeTruthy();
    expect(rows('Failovers')).toHaveLength(3);
    expect(rows('Resyncs')).toHaveLength(3);
  });

  it('shows no duration if no proxy measured one', () => {
    const [known] = incidentWithEventsFixture().databases;
    if (!known) throw new Error('no database');
    const withoutImpact = { ...known, unserved_ms: null, failed: 0, delayed: 0, lost: 0 };
    renderTables({ databases: [withoutImpact], cause: null });
    expect(rows('Databases')[1]).toContain('unknown');
    expect(screen.getByText('Unknown')).toBeTruthy();
  });
});
