// @dom
import { MantineProvider } from '@mantine/core';
import { fireEvent, render, screen } from '@testing-library/react';
import { expect, it, vi } from 'vitest';
import type { ParsedCommandLine } from '@/api/types';
import { PastedCommand } from './PastedCommand';

const PARSED: ParsedCommandLine = {
  workload: { pipeline: 5 },
  repetitions: null,
  read_as: 'memtier_benchmark --pipeline=5',
  corrections: ['Read –pipeline as --pipeline.'],
  ignored: ['port'],
  errors: [],
  suggestion: '',
};
const UNREADABLE = { ...PARSED, workload: {}, read_as: '', corrections: [], ignored: [] };
const onChange = vi.fn();

function show(line: string, parsed: ParsedCommandLine | undefined, problem?: string) {
  render(
    <MantineProvider>
      <PastedCommand line={line} parsed={parsed} problem={problem} onChange={onChange} />
    </MantineProvider>,
  );
}

it('shows how a line is read and what was corrected', () => {
  show('memtier_benchmark –pipeline=5 -p 1', PARSED);
  expect(screen.getByText('memtier_benchmark --pipeline=5')).not.toBeNull();
  expect(screen.getByText('Read –pipeline as --pipeline.')).not.toBeNull();
  expect(screen.getByText(/Ignored: port/)).not.toBeNull();
});

it('shows errors at the field', () => {
  const description = '--bogus is not supported.';
  show(
    '--bogus',
    { ...UNREADABLE, errors: [{ option: 'command_line', description }] },
    description,
  );
  expect(screen.getByRole('textbox').getAttribute('aria-invalid')).toBe('true');
  expect(screen.getByText(description)).not.toBeNull();
  expect(screen.queryByText(/Read as/)).toBeNull();
});

it('offers the line with the same load for another program', () => {
  const errors = [{ option: 'command_line', description: 'redis-benchmark has other options.' }];
  show('redis-benchmark -t set', {
    ...UNREADABLE,
    errors,
    suggestion: 'memtier_benchmark --clients=50',
  });
  fireEvent.click(screen.getByRole('button', { name: 'Use this line' }));
  expect(onChange).toHaveBeenCalledWith('memtier_benchmark --clients=50');
});

it('shows nothing for an empty field', () => {
  show('', undefined);
  expect(screen.queryByText(/Read as/)).toBeNull();
});
