// @dom
import { MantineProvider } from '@mantine/core';
import { fireEvent, render, screen } from '@testing-library/react';
import { describe, expect, it, vi } from 'vitest';
import { Matters } from './Matters';
import type { Problem } from './problems';

vi.mock('@tanstack/react-router', () => ({
  Link: ({ children }: { children: string }) => <a href="/">{children}</a>,
}));

const problem = (text: string): Problem => ({
  tone: 'attention',
  text,
  banner: false,
  link: { to: '/nodes' },
});
const show = (count: number) =>
  render(
    <MantineProvider>
      <Matters problems={Array.from({ length: count }, (_, index) => problem(`matter ${index}`))} />
    </MantineProvider>,
  );

describe('Matters', () => {
  it('shows a strip for each problem except the one in the heading', () => {
    show(3);
    expect(screen.getAllByText(/matter/).map((link) => link.textContent)).toEqual([
      'matter 1',
      'matter 2',
    ]);
  });

  it('shows three strips, and the others on request', () => {
    show(6);
    expect(screen.getAllByText(/matter/)).toHaveLength(3);
    fireEvent.click(screen.getByRole('button', { name: 'Show 2 more' }));
    expect(screen.getAllByText(/matter/)).toHaveLength(5);
    expect(screen.queryByRole('button')).toBeNull();
  });
});
