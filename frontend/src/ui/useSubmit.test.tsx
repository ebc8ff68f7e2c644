// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { act, fireEvent, render, screen } from '@testing-library/react';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { Ask } from './Ask';
import { Refused } from './Refused';
import { useSubmit } from './useSubmit';

const answers: { resolve: () => void; reject: (error: Error) => void }[] = [];
const ordered = vi.fn(
  (_what: string) =>
    new Promise<void>((resolve, reject) => {
      answers.push({ resolve, reject });
    }),
);

function Form() {
  const { submit, busy, refusal, forget } = useSubmit(ordered);
  return (
    <>
      <button type="button" onClick={() => submit('this')}>
        {busy ? 'Waits' : 'Order'}
      </button>
      <button type="button" onClick={forget}>
        Change
      </button>
      <Refused refusal={refusal} />
    </>
  );
}

function show(children: React.ReactNode) {
  render(
    <MantineProvider>
      <QueryClientProvider client={new QueryClient()}>{children}</QueryClientProvider>
    </MantineProvider>,
  );
}
const press = (name: string) => fireEvent.click(screen.getByRole('button', { name }));

describe('useSubmit', () => {
  beforeEach(() => {
    answers.length = 0;
    ordered.mockClear();
  });

  it('orders once, however often it is pressed before the answer', async () => {
    show(<Form />);
    const button = screen.getByRole('button', { name: 'Order' });
    act(() => {
      button.click();
      button.click();
    });
    await screen.findByRole('button', { name: 'Waits' });
    fireEvent.click(button);
    expect(ordered.mock.calls).toEqual([['this']]);
    await act(async () => answers[0]?.resolve());
    await screen.findByRole('button', { name: 'Order' });
    press('Order');
    await vi.waitFor(() => expect(ordered).toHaveBeenCalledTimes(2));
  });

  it('tells what was refused, also when something was changed meanwhile, until it is changed', async () => {
    show(<Form />);
    press('Order');
    await screen.findByRole('button', { name: 'Waits' });
    press('Change');
    press('Waits');
    expect(ordered).toHaveBeenCalledTimes(1);
    await act(async () => answers[0]?.reject(new Error('It is busy.')));
    expect((await screen.findByRole('alert')).textContent).toBe('It is busy.');
    press('Change');
    await vi.waitFor(() => expect(screen.queryByRole('alert')).toBeNull());
  });
});

describe('Ask', () => {
  it('orders nothing of the form that it was asked from', async () => {
    const outer = vi.fn();
    const confirmed = vi.fn(async () => undefined);
    const closed = vi.fn();
    show(
      <form onSubmit={outer}>
        <Ask title="Sure?" action="Do it" onConfirm={confirmed} onClose={closed}>
          It is done then.
        </Ask>
      </form>,
    );
    fireEvent.click(await screen.findByRole('button', { name: 'Do it' }));
    await vi.waitFor(() => expect(closed).toHaveBeenCalled());
    expect(confirmed).toHaveBeenCalledTimes(1);
    expect(outer).not.toHaveBeenCalled();
  });
});
