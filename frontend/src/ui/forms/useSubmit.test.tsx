// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { act, fireEvent, render, screen } from '@testing-library/react';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { RequestError } from './RequestError';
import { SubmitDialog } from './SubmitDialog';
import { useSubmit } from './useSubmit';

const answers: { resolve: () => void; reject: (error: Error) => void }[] = [];
const submitted = vi.fn(
  (_what: string) =>
    new Promise<void>((resolve, reject) => {
      answers.push({ resolve, reject });
    }),
);

function Form() {
  const { submit, busy, failure, clear } = useSubmit(submitted);
  return (
    <>
      <button type="button" onClick={() => submit('this')}>
        {busy ? 'Waits' : 'Submit'}
      </button>
      <button type="button" onClick={clear}>
        Change
      </button>
      <RequestError failure={failure} />
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
    submitted.mockClear();
  });

  it('submits once if the button is pressed again before the reply', async () => {
    show(<Form />);
    const button = screen.getByRole('button', { name: 'Submit' });
    act(() => {
      button.click();
      button.click();
    });
    await screen.findByRole('button', { name: 'Waits' });
    fireEvent.click(button);
    expect(submitted.mock.calls).toEqual([['this']]);
    await act(async () => answers[0]?.resolve());
    await screen.findByRole('button', { name: 'Submit' });
    press('Submit');
    await vi.waitFor(() => expect(submitted).toHaveBeenCalledTimes(2));
  });

  it('shows the error until the input changes, also if the input changed before the reply', async () => {
    show(<Form />);
    press('Submit');
    await screen.findByRole('button', { name: 'Waits' });
    press('Change');
    press('Waits');
    expect(submitted).toHaveBeenCalledTimes(1);
    await act(async () => answers[0]?.reject(new Error('It is busy.')));
    expect((await screen.findByRole('alert')).textContent).toBe('It is busy.');
    press('Change');
    await vi.waitFor(() => expect(screen.queryByRole('alert')).toBeNull());
  });
});

describe('SubmitDialog', () => {
  it('does not submit the form that contains the dialog', async () => {
    const outer = vi.fn();
    const confirmed = vi.fn(async () => undefined);
    const closed = vi.fn();
    show(
      <form onSubmit={outer}>
        <SubmitDialog title="Sure?" action="Do it" onConfirm={confirmed} onClose={closed}>
          It is done then.
        </SubmitDialog>
      </form>,
    );
    fireEvent.click(await screen.findByRole('button', { name: 'Do it' }));
    await vi.waitFor(() => expect(closed).toHaveBeenCalled());
    expect(confirmed).toHaveBeenCalledTimes(1);
    expect(outer).not.toHaveBeenCalled();
  });
});
