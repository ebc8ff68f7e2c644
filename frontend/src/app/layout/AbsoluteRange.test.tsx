// @dom
import { MantineProvider } from '@mantine/core';
import { fireEvent, render, screen } from '@testing-library/react';
import { describe, expect, it, vi } from 'vitest';
import { AbsoluteRange } from './AbsoluteRange';

const NOW = Date.parse('2026-03-04T10:00:00Z') / 1000;

describe('AbsoluteRange', () => {
  it('rejects an invalid year', () => {
    const onChoose = vi.fn();
    render(
      <MantineProvider>
        <AbsoluteRange
          window={{ from: NOW - 300, to: NOW }}
          zone="utc"
          now={NOW}
          onChoose={onChoose}
        />
      </MantineProvider>,
    );
    const button = screen.getByRole<HTMLButtonElement>('button', { name: 'Show this interval' });
    expect(button.disabled).toBe(false);
    fireEvent.change(screen.getByLabelText('From'), { target: { value: '0202-03-04T09:00:00' } });
    expect(button.disabled).toBe(true);
    expect(screen.getByRole('alert').textContent).toMatch(/2000/);
    fireEvent.change(screen.getByLabelText('From'), { target: { value: '2026-03-04T09:00:00' } });
    fireEvent.click(button);
    expect(onChoose).toHaveBeenCalledWith({ from: NOW - 3_600, to: NOW });
  });
});
