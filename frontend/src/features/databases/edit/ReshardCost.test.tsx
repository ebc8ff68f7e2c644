// @dom
import { MantineProvider } from '@mantine/core';
import { render, screen } from '@testing-library/react';
import { describe, expect, it } from 'vitest';
import type { ReshardPreview } from '@/api/types';
import { movedDataText, ReshardCost } from './ReshardCost';

const cost = (part: Partial<ReshardPreview> = {}): ReshardPreview => ({
  slots: 8192,
  keys: 2990,
  bytes: 1_000_000,
  pace: 'gentle',
  estimates: [
    { pace: 'gentle', seconds: 40, time: 'about 40 s', latency: 'P99 3 ms', basis: 'measured' },
    { pace: 'fast', seconds: 15, time: 'about 15 s', latency: 'P99 25 ms', basis: 'measured' },
  ],
  ...part,
});

const costText = (preview: ReshardPreview) => movedDataText(preview).replaceAll('\u00a0', ' ');

describe('ReshardCost', () => {
  it('shows time and latency of both paces and marks the current one', () => {
    render(
      <MantineProvider>
        <ReshardCost cost={cost()} />
      </MantineProvider>,
    );
    const rows = screen.getAllByRole('row').map((row) => row.textContent);
    expect(rows.slice(1)).toEqual([
      'gentle (current)about 40 sP99 3 ms',
      'fastabout 15 sP99 25 ms',
    ]);
  });

  it('shows sizes only if they are known', () => {
    expect(costText(cost())).toContain('with about 2,990 keys');
    expect(costText(cost({ keys: 188, bytes: 0 }))).toBe(
      '8,192 slots to move, with about 188 keys, too small to measure.',
    );
    expect(costText(cost({ keys: 0, bytes: 0 }))).toBe('8,192 slots to move, without keys.');
    const { keys: _keys, bytes: _bytes, ...unknown } = cost();
    expect(costText(unknown)).toBe('8,192 slots to move.');
  });
});
