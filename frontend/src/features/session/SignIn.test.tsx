// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { cleanup, fireEvent, render, screen, waitFor } from '@testing-library/react';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { offerQuery } from '@/api/sso';
import { SignIn } from './SignIn';

const answered = vi.fn();
const onDone = vi.fn(async () => undefined);

let offer: string | null;

function show(props: { next?: string; refused?: string } = {}) {
  const client = new QueryClient();
  client.setQueryDefaults(offerQuery.queryKey, { staleTime: Infinity });
  client.setQueryData(offerQuery.queryKey, { name: offer });
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
  offer = null;
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

it('asks for a code where there is a second factor, and again when it was wrong', async () => {
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

it('has an app set up where everybody needs one, and gives the recovery codes once', async () => {
  answered.mockImplementationOnce(refused('second_factor_missing'));
  answered.mockImplementationOnce(async () =>
    Response.json({ secret: 'ABCD', uri: 'otpauth://totp/x' }),
  );
  signIn();
  await screen.findByLabelText('Code that the app shows');
  expect(screen.getByText('ABCD')).toBeTruthy();
  expect(screen.queryByRole('alert')).toBeNull();
  type('Code that the app shows', '000000');
  answered.mockImplementationOnce(refused('wrong_code', 406));
  signIn();
  expect(await screen.findByText('Refused: wrong_code.')).toBeTruthy();
  expect(screen.getByText('ABCD')).toBeTruthy();
  type('Code that the app shows', '123456');
  answered.mockImplementationOnce(async () => Response.json({ recovery_codes: ['aa-bb'] }));
  signIn();
  expect(await screen.findByText('aa-bb')).toBeTruthy();
  expect(onDone).not.toHaveBeenCalled();
  fireEvent.click(button('I have kept them'));
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
])('goes on with the app that was set up meanwhile (%s)', async (code, status) => {
  answered.mockImplementationOnce(refused('second_factor_missing'));
  answered.mockImplementationOnce(async () =>
    Response.json({ secret: 'ABCD', uri: 'otpauth://totp/x' }),
  );
  signIn();
  await screen.findByText('ABCD');
  type('Code that the app shows', '123456');
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

it('says why an app cannot be set up', async () => {
  answered.mockImplementationOnce(refused('second_factor_missing'));
  answered.mockImplementationOnce(refused('invalid_credentials'));
  signIn();
  expect(await screen.findByText('Refused: invalid_credentials.')).toBeTruthy();
  expect(screen.queryByText(/Everybody needs/)).toBeNull();
});

it('asks for a new password in place of one that has expired', async () => {
  answered.mockImplementationOnce(refused('password_expired'));
  signIn();
  await screen.findByText(/has expired/);
  expect(button('Sign in').disabled).toBe(true);
  type('New password', 'another horse');
  type('New password once more', 'another hors');
  expect(await screen.findByText('Not the same as above')).toBeTruthy();
  expect(button('Sign in').disabled).toBe(true);
  type('New password once more', 'another horse');
  answered.mockImplementationOnce(async () => Response.json({}));
  signIn();
  await waitFor(() => expect(onDone).toHaveBeenCalledOnce());
  expect(sent()[1]).toEqual({
    username: 'ann',
    password: 'correct horse',
    new_password: 'another horse',
  });
});

it('forgets what was typed when it was wrong, and for somebody else', async () => {
  answered.mockImplementationOnce(refused('invalid_credentials'));
  signIn();
  expect(await screen.findByText('Refused: invalid_credentials.')).toBeTruthy();
  await waitFor(() => expect(field('Password').value).toBe(''));
  type('Password', 'correct horse');
  answered.mockImplementationOnce(refused('second_factor_required'));
  signIn();
  await screen.findByLabelText('Code');
  fireEvent.click(button('Sign in as somebody else'));
  expect(screen.queryByLabelText('Code')).toBeNull();
  expect(field('Password').value).toBe('');
  expect(field('User').readOnly).toBe(false);
});

it('leads to single sign-on where there is one, and back to the page that was wanted', () => {
  expect(screen.queryByRole('link')).toBeNull();
  cleanup();
  offer = 'Example';
  show({ next: '/nodes?range=60' });
  expect(screen.getByRole('link', { name: 'Sign in with Example' }).getAttribute('href')).toBe(
    '/v1/session/sso/start?next=%2Fnodes%3Frange%3D60',
  );
});

it('says why single sign-on let nobody in', () => {
  cleanup();
  show({ refused: 'no_role' });
  expect(screen.getByText(/in no group that has a role here/)).toBeTruthy();
  cleanup();
  show({ refused: 'provider_fault' });
  expect(screen.getByText(/the console’s events say why/)).toBeTruthy();
});

it('warns where the browser would drop the session cookie', () => {
  expect(screen.queryByText(/Open the console with https/)).toBeNull();
  cleanup();
  vi.stubGlobal('isSecureContext', false);
  show();
  expect(screen.getByRole('alert').textContent).toContain('Open the console with https://');
});
