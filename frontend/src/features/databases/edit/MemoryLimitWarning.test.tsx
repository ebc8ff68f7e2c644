// @dom
import { MantineProvider } from '@mantine/core';
import { render, screen } from '@testing-library/react';
import { describe, expect, it, vi } from 'vitest';
import type { Bdb } from '@/api/types';
import { MemoryLimitWarning } from './MemoryLimitWarning';

vi.mock('@/live/LiveProvider', () => ({
  useLive: () => ({ ring: () => ({ latest: () => 23 * 2 ** 20 }), edge: () => 0 }),
}));

const bdb = { uid: 1, eviction_policy: 'noeviction' } as Bdb;

function show(limit: number) {
  render(
    <MantineProvider>
      <MemoryLimitWarning bdb={bdb} limit={limit} />
    </MantineProvider>,
  );
}

describe('MemoryLimitWarning', () => {
  it('shows the effect of a limit below the used memory', () => {
    show(14 * 2 ** 20);
    expect(screen.getByRole('status').textContent).toMatch(/uses 23\sMiB now.*writes are rej/);
  });

  it('shows nothing for a limit above the used memory', () => {
    show(30 * 2 ** 20);
    expect(screen.queryByRole('status')).toBeNull();
  });
});
