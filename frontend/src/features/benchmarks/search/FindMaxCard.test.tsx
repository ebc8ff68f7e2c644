// @dom
import { MantineProvider } from '@mantine/core';
import { render, screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import type { FindMaxResult } from '@/api/types';
import { FindMaxCard } from './FindMaxCard';

const FOUND: FindMaxResult = {
  limit: 'average_ms',
  ms: 1,
  rate: 7_000,
  ops_per_second: 7_000,
  average_ms: 0.5,
  p99_ms: 0.9,
  confirmations: 3,
  confirmed: true,
  limited_by: 'database',
  curve: [
    [5_000, 0.3, 0.6, true],
    [7_000, 0.5, 0.9, true],
    [10_000, 8, 30, false],
  ],
  text: 'Highest rate: 7,000 requests/s.',
};

const show = (find_max: FindMaxResult | null) =>
  render(
    <MantineProvider>
      <FindMaxCard run={{ name: 'a run', find_max }} />
    </MantineProvider>,
  );

it('shows the found rate and a point for each measured rate, with the limit', () => {
  const { container } = show(FOUND);
  expect(screen.getByText(FOUND.text)).toBeTruthy();
  expect(screen.getByRole('img', { name: 'Latency by rate' })).toBeTruthy();
  expect(screen.getByText(/Limit 1 ms/)).toBeTruthy();
  expect(screen.getByText(/are cut off/)).toBeTruthy();
  // One circle per rate, and one for the found rate.
  const circles = [...container.querySelectorAll('circle')];
  expect(circles).toHaveLength(4);
  expect(circles[3]?.getAttribute('cy')).toBe(circles[1]?.getAttribute('cy'));
});

it('shows no chart before the first rate has been measured, and nothing without a search', () => {
  show({ ...FOUND, curve: [], rate: null, confirmed: false });
  expect(screen.getByText('The first rate has not been measured yet.')).toBeTruthy();
  expect(screen.queryByRole('img')).toBeNull();
  expect(show(null).container.querySelector('section')).toBeNull();
});
