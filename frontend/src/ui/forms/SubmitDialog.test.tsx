// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { act, fireEvent, render, screen, waitFor } from '@testing-library/react';
import type { ComponentProps } from 'react';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { lostSince } from '@/lib/connection';
import { SubmitDialog } from './SubmitDialog';

afterEach(() => lostSince.set(null));

const show = (
  children: ComponentProps<typeof SubmitDialog>['children'],
  onConfirm: () => Promise<unknown>,
) =>
  render(
    <MantineProvider>
      <QueryClientProvider client={new QueryClient()}>
        <SubmitDialog title="Remove?" action="Remove" onConfirm={onConfirm} onClose={vi.fn()}>
          {children}
        </SubmitDialog>
      </QueryClientProvider>
    </MantineProvider>,
  );

describe('SubmitDialog', () => {
  it('cannot be submitted while the console is unreachable, and shows the reason', async () => {
    const onConfirm = vi.fn(async () => undefined);
    show(<span>All of it.</span>, onConfirm);
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

  it.each([
    ['key must be at least 1.', 'Must be at least 1.'],
    ['key: cores 9 do not exist.', 'Cores 9 do not exist.'],
    ['keys are required.', 'keys are required.'],
  ])('shows %s at the field as %s', async (message, text) => {
    const onConfirm = () => Promise.reject(Object.assign(new Error(message), { field: 'key' }));
    show((fieldError) => <p>{fieldError('key')}</p>, onConfirm);
    fireEvent.submit(screen.getByRole('button', { name: 'Remove' }));
    expect((await screen.findByText(text)).tagName).toBe('P');
  });

  it.each(['key', 'name'])('shows the error of the field %s once', async (field) => {
    const onConfirm = () => Promise.reject(Object.assign(new Error('It is wrong.'), { field }));
    show((fieldError) => <p>{fieldError('key')}</p>, onConfirm);
    fireEvent.submit(screen.getByRole('button', { name: 'Remove' }));
    const error = await screen.findByText('It is wrong.');
    expect(error.tagName === 'P').toBe(field === 'key');
    expect(screen.queryAllByRole('alert')).toHaveLength(field === 'key' ? 0 : 1);
  });
});
