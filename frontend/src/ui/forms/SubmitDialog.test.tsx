// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { act, fireEvent, render, screen, waitFor } from '@testing-library/react';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { lostSince } from '@/lib/connection';
import { SubmitDialog } from './SubmitDialog';

afterEach(() => lostSince.set(null));

describe('SubmitDialog', () => {
  it('cannot be submitted while the console is unreachable, and shows the reason', async () => {
    const onConfirm = vi.fn(async () => undefined);
    render(
      <MantineProvider>
        <QueryClientProvider client={new QueryClient()}>
          <SubmitDialog title="Remove?" action="Remove" onConfirm={onConfirm} onClose={vi.fn()}>
            <span>All of it.</span>
          </SubmitDialog>
        </QueryClientProvider>
      </MantineProvider>,
    );
    const button = screen.getByRole<HTMLButtonElement>('button', { name: 'Remove' });
    expect(button.disabled).toBe(false);
    act(() => lostSince.set(1));
    expect(button.disabled).toBe(true);
    expect(screen.getByRole('alert').textContent).toContain('connection to the console is lost');
    fireEvent.submit(button);
    expect(onConfirm).not.toHaveBeenCalled();
    act(() => lostSince.set(null));
    fireEvent.submit(button);
    await waitFor(() => expect(onConfirm).toHaveBeenCalledOnce());
  });
});
