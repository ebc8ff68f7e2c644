// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { fireEvent, render, screen, waitFor } from '@testing-library/react';
import type { ReactElement } from 'react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { User } from '@/api/types';
import {
  DisableSecondFactor,
  DisableSecondFactorOf,
  EnableSecondFactor,
  RecoveryCodes,
} from './SecondFactorDialogs';

const answered = vi.fn();
const onClose = vi.fn();

beforeEach(() => vi.stubGlobal('fetch', answered));
afterEach(() => {
  answered.mockReset();
  onClose.mockReset();
  vi.unstubAllGlobals();
});

function open(dialog: ReactElement) {
  render(
    <MantineProvider>
      <QueryClientProvider client={new QueryClient()}>{dialog}</QueryClientProvider>
    </MantineProvider>,
  );
}

const type = (label: RegExp, value: string) =>
  fireEvent.change(screen.getByLabelText(label), { target: { value } });
const click = (name: string) => fireEvent.click(screen.getByRole('button', { name }));
const requests = () =>
  answered.mock.calls.map(([path, { method, body }]) => [method, path, body && JSON.parse(body)]);

it('turns on with the displayed secret and returns the recovery codes', async () => {
  answered.mockImplementation(async (_: string, { method }: RequestInit) =>
    Response.json(
      method === 'POST' ? { secret: 'ABCD', uri: 'otpauth://totp/x' } : { recovery_codes: ['a-b'] },
    ),
  );
  const onDone = vi.fn();
  open(<EnableSecondFactor onDone={onDone} onClose={onClose} />);
  expect(await screen.findByText('ABCD')).toBeTruthy();
  expect(screen.getByRole('img', { hidden: true })).toBeTruthy();
  type(/Code/, '123456');
  type(/Your password/, 'correct horse');
  click('Turn on');
  await waitFor(() => expect(onDone).toHaveBeenCalledWith(['a-b']));
  await waitFor(() => expect(onClose).toHaveBeenCalled());
  expect(requests()[1]).toEqual([
    'PUT',
    '/v1/users/second_factor',
    { password: 'correct horse', secret: 'ABCD', code: '123456' },
  ]);
});

it('requires a code of the previous app to change the app', async () => {
  answered.mockImplementation(async (_: string, { method }: RequestInit) =>
    Response.json(
      method === 'POST' ? { secret: 'ABCD', uri: 'otpauth://totp/x' } : { recovery_codes: ['a-b'] },
    ),
  );
  const onDone = vi.fn();
  open(<EnableSecondFactor replaces onDone={onDone} onClose={onClose} />);
  await screen.findByText('ABCD');
  type(/Code from the app/, '123456');
  type(/Your password/, 'correct horse');
  expect(screen.getByRole<HTMLButtonElement>('button', { name: 'Change app' }).disabled).toBe(true);
  type(/Current code/, 'aa-bb');
  click('Change app');
  await waitFor(() => expect(onDone).toHaveBeenCalledWith(['a-b']));
  expect(requests()[1]?.[2]).toEqual({
    password: 'correct horse',
    secret: 'ABCD',
    code: '123456',
    present_code: 'aa-bb',
  });
});

it('stays open and shows the error', async () => {
  answered.mockImplementation(async (_: string, { method }: RequestInit) =>
    method === 'POST'
      ? Response.json({ secret: 'ABCD', uri: 'otpauth://totp/x' })
      : Response.json({ description: 'This is not the code.' }, { status: 406 }),
  );
  const onDone = vi.fn();
  open(<EnableSecondFactor onDone={onDone} onClose={onClose} />);
  await screen.findByText('ABCD');
  type(/Code/, '1');
  type(/Your password/, 'correct horse');
  click('Turn on');
  expect(await screen.findByText('This is not the code.')).toBeTruthy();
  expect(onDone).not.toHaveBeenCalled();
  expect(onClose).not.toHaveBeenCalled();
});

it('turns off with the password and a code', async () => {
  answered.mockImplementation(async () => Response.json({}));
  open(<DisableSecondFactor onClose={onClose} />);
  type(/Your password/, 'correct horse');
  type(/Current code/, 'aa-bb');
  click('Turn off');
  await waitFor(() => expect(onClose).toHaveBeenCalledOnce());
  expect(requests()).toEqual([
    ['DELETE', '/v1/users/second_factor', { password: 'correct horse', present_code: 'aa-bb' }],
  ]);
});

it('turns off for another user without their password', async () => {
  answered.mockImplementation(async () => Response.json({}));
  open(<DisableSecondFactorOf user={{ uid: 7, email: 'ann' } as User} onClose={onClose} />);
  click('Turn off');
  await waitFor(() => expect(onClose).toHaveBeenCalledOnce());
  expect(requests()[0]).toEqual(['DELETE', '/v1/users/7/second_factor', null]);
});

it('shows the recovery codes', () => {
  open(<RecoveryCodes codes={['a-b', 'c-d']} onClose={onClose} />);
  expect(screen.getByText(/a-b\s+c-d/)).toBeTruthy();
  click('Done');
  expect(onClose).toHaveBeenCalledOnce();
});
