// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { cleanup, fireEvent, render, screen, waitFor } from '@testing-library/react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { ssoStatusQuery } from '@/api/access/sso';
import { SignIn } from './SignIn';

const answered = vi.fn();
const onDone = vi.fn(async () => undefined);

let ssoName: string | null;

function show(props: { next?: string; ssoError?: string } = {}) {
  const client = new QueryClient();
  client.setQueryDefaults(ssoStatusQuery.queryKey, { staleTime: Infinity });
  client.setQueryData(ssoStatusQuery.queryKey, { name: ssoName });
  render(
    <MantineProvider>
      <QueryClientProvider client={client}>
        <SignIn onDone={onDone} {...props} />
      </QueryClientProvider>
    </MantineProvider>,
  );
}

beforeEach(() => {
  vi.stubGlobal('fetch', answered);
  ssoName = null;
  show();
  type('User', 'ann');
  type('Password', 'correct horse');
});
afterEach(() => {
  answered.mockReset();
  onDone.mockReset();
  vi.unstubAllGlobals();
});

const refused =
  (error_code: string, status = 401) =>
  async () =>
    Response.json({ error_code, description: `Refused: ${error_code}.` }, { status });
const field = (label: string) => screen.getByLabelText<HTMLInputElement>(label);
const type = (label: string, value: string) =>
  fireEvent.change(field(label), { target: { value } });
const button = (name: string) => screen.getByRole<HTMLButtonElement>('button', { name });
const signIn = () => fireEvent.click(button('Sign in'));
const sent = () => answered.mock.calls.map(([, { body }]) => JSON.parse(body));

it('asks for a code if two-factor authentication is on, and again if the code was wrong', async () => {
  answered.mockImplementationOnce(refused('second_factor_required'));
  signIn();
  await screen.findByLabelText('Code');
  expect(screen.queryByRole('alert')).toBeNull();
  expect(field('Password').readOnly).toBe(true);
  type('Code', '000000');
  answered.mockImplementationOnce(refused('wrong_code'));
  signIn();
  expect(await screen.findByText('Refused: wrong_code.')).toBeTruthy();
  await waitFor(() => expect(field('Code').value).toBe(''));
  type('Code', '123456');
  answered.mockImplementationOnce(async () => Response.json({}));
  signIn();
  await waitFor(() => expect(onDone).toHaveBeenCalledOnce());
  const form = { username: 'ann', password: 'correct horse' };
  expect(sent()).toEqual([form, { ...form, code: '000000' }, { ...form, code: '123456' }]);
});

it('sets up an app if the policy requires one, and shows the recovery codes once', async () => {
  answered.mockImplementationOnce(refused('second_factor_missing'));
  answered.mockImplementationOnce(async () =>
    Response.json({ secret: 'ABCD', uri: 'otpauth://totp/x' }),
  );
  signIn();
  await screen.findByLabelText('Code from the app');
  expect(screen.getByText('ABCD')).toBeTruthy();
  expect(screen.queryByRole('alert')).toBeNull();
  type('Code from the app', '000000');
  answered.mockImplementationOnce(refused('wrong_code', 406));
  signIn();
  expect(await screen.findByText('Refused: wrong_code.')).toBeTruthy();
  expect(screen.getByText('ABCD')).toBeTruthy();
  type('Code from the app', '123456');
  answered.mockImplementationOnce(async () => Response.json({ recovery_codes: ['aa-bb'] }));
  signIn();
  expect(await screen.findByText('aa-bb')).toBeTruthy();
  expect(onDone).not.toHaveBeenCalled();
  fireEvent.click(button('I have saved the codes'));
  expect(onDone).toHaveBeenCalledOnce();
  const form = { username: 'ann', password: 'correct horse' };
  expect(sent()).toEqual([
    form,
    form,
    { ...form, code: '000000', secret: 'ABCD' },
    { ...form, code: '123456', secret: 'ABCD' },
  ]);
});

it.each([
  ['second_factor_is_on', 409],
  ['wrong_code', 401],
])('asks for a code of an app that was set up in the meantime (%s)', async (code, status) => {
  answered.mockImplementationOnce(refused('second_factor_missing'));
  answered.mockImplementationOnce(async () =>
    Response.json({ secret: 'ABCD', uri: 'otpauth://totp/x' }),
  );
  signIn();
  await screen.findByText('ABCD');
  type('Code from the app', '123456');
  answered.mockImplementationOnce(refused(code, status));
  signIn();
  await screen.findByText(`Refused: ${code}.`);
  await waitFor(() => expect(screen.queryByText('ABCD')).toBeNull());
  type('Code', '654321');
  answered.mockImplementationOnce(async () => Response.json({}));
  signIn();
  await waitFor(() => expect(onDone).toHaveBeenCalledOnce());
  expect(sent().at(-1)).toEqual({ username: 'ann', password: 'correct horse', code: '654321' });
});

it('shows why an app cannot be set up', async () => {
  answered.mockImplementationOnce(refused('second_factor_missing'));
  answered.mockImplementationOnce(refused('invalid_credentials'));
  signIn();
  expect(await screen.findByText('Refused: invalid_credentials.')).toBeTruthy();
  expect(screen.queryByText(/Two-factor authentication is required/)).toBeNull();
});

it('asks for a new password if the password has expired', async () => {
  answered.mockImplementationOnce(refused('password_expired'));
  signIn();
  await screen.findByText(/has expired/);
  expect(button('Sign in').disabled).toBe(true);
  type('New password', 'another horse');
  type('Repeat password', 'another hors');
  expect(await screen.findByText('The passwords do not match')).toBeTruthy();
  expect(button('Sign in').disabled).toBe(true);
  type('Repeat password', 'another horse');
  answered.mockImplementationOnce(async () => Response.json({}));
  signIn();
  await waitFor(() => expect(onDone).toHaveBeenCalledOnce());
  expect(sent()[1]).toEqual({
    username: 'ann',
    password: 'correct horse',
    new_password: 'another horse',
  });
});

it('clears the password after a failed sign-in and for another user', async () => {
  answered.mockImplementationOnce(refused('invalid_credentials'));
  signIn();
  expect(await screen.findByText('Refused: invalid_credentials.')).toBeTruthy();
  await waitFor(() => expect(field('Password').value).toBe(''));
  type('Password', 'correct horse');
  answered.mockImplementationOnce(refused('second_factor_required'));
  signIn();
  await screen.findByLabelText('Code');
  fireEvent.click(button('Sign in as another user'));
  expect(screen.queryByLabelText('Code')).toBeNull();
  expect(field('Password').value).toBe('');
  expect(field('User').readOnly).toBe(false);
});

it('links to single sign-on if it is configured, and passes the requested page', () => {
  expect(screen.queryByRole('link')).toBeNull();
  cleanup();
  ssoName = 'Example';
  show({ next: '/nodes?range=60' });
  expect(screen.getByRole('link', { name: 'Sign in with Example' }).getAttribute('href')).toBe(
    '/v1/session/sso/start?next=%2Fnodes%3Frange%3D60',
  );
});

it('shows why single sign-on failed', () => {
  cleanup();
  show({ ssoError: 'no_role' });
  expect(screen.getByText(/None of your groups has a role in this console/)).toBeTruthy();
  cleanup();
  show({ ssoError: 'too_many_groups' });
  expect(screen.getByText(/in too many groups/)).toBeTruthy();
  cleanup();
  show({ ssoError: 'provider_fault' });
  expect(screen.getByText(/The event log contains the reason/)).toBeTruthy();
});

it('warns if the browser would drop the session cookie', () => {
  expect(screen.queryByText(/Open the console with https/)).toBeNull();
  cleanup();
  vi.stubGlobal('isSecureContext', false);
  show();
  expect(screen.getByRole('alert').textContent).toContain('Open the console with https://');
});

it('explains lost passwords only on demand', () => {
  const help = screen.getByText('Help with signing in').closest('details');
  expect(help?.open).toBe(false);
  expect(help?.textContent).toContain('shardboard reset-admin-password');
});

it('shows progress while the console checks the password', async () => {
  let answer = (_: Response) => {};
  answered.mockImplementationOnce(
    () =>
      new Promise<Response>((resolve) => {
        answer = resolve;
      }),
  );
  signIn();
  expect(
    (await screen.findByRole<HTMLButtonElement>('button', { name: 'Signing in…' })).disabled,
  ).toBe(true);
  answer(Response.json({}));
  await waitFor(() => expect(onDone).toHaveBeenCalledOnce());
});
