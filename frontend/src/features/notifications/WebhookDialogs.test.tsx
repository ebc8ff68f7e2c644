// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { fireEvent, render, screen, waitFor } from '@testing-library/react';
import type { ReactNode } from 'react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { webhooksQuery } from '@/api/alerting/webhooks';
import type { Webhook } from '@/api/types';
import { AddWebhook, ChangeWebhook, RemoveWebhook } from './WebhookDialogs';

const HOOK: Webhook = {
  uid: 7,
  name: 'chat',
  kind: 'webhook',
  silent_until: null,
  url: 'https://hooks.example.org/a',
  is_signed: true,
  ca: 'THE CA',
  events: 'alarms',
  min_severity: 'WARNING',
  enabled: true,
  created_time: '2026-01-01T00:00:00Z',
  last_told_time: null,
  failures: 0,
  last_error: '',
  open: 0,
};
const KEPT = 'If empty, the current secret is kept';

const answered = vi.fn();
const closed = vi.fn();
let client: QueryClient;

beforeEach(() => {
  client = new QueryClient();
  client.setQueryData(webhooksQuery.queryKey, [HOOK]);
  vi.stubGlobal('fetch', answered);
  answered.mockImplementation(async () => Response.json(HOOK));
});
afterEach(() => {
  answered.mockReset();
  closed.mockReset();
  vi.unstubAllGlobals();
});

const show = (dialog: ReactNode) =>
  render(
    <MantineProvider env="test">
      <QueryClientProvider client={client}>{dialog}</QueryClientProvider>
    </MantineProvider>,
  );
const showAdd = () => show(<AddWebhook onClose={closed} />);
const showEdit = (webhook: Webhook = HOOK) =>
  show(<ChangeWebhook webhook={webhook} onClose={closed} />);
const showRemove = (webhook: Webhook = HOOK) =>
  show(<RemoveWebhook webhook={webhook} onClose={closed} />);

const field = (label: RegExp) => screen.getByLabelText<HTMLInputElement>(label);
const enter = (label: RegExp, value: string) =>
  fireEvent.change(field(label), { target: { value } });
const button = (name: string) => screen.getByRole<HTMLButtonElement>('button', { name });

/** Press the button and return method, path and body of the request, when the dialog is closed. */
async function submit(name: string) {
  fireEvent.click(button(name));
  await waitFor(() => expect(closed).toHaveBeenCalledTimes(1));
  expect(answered).toHaveBeenCalledTimes(1);
  const [path, { method, body }] = answered.mock.calls[0] ?? [];
  return [method, path, body && JSON.parse(body)];
}

describe('a new receiver', () => {
  it('is a webhook for alarms, unless something else is chosen', async () => {
    showAdd();
    screen.getByRole('dialog', { name: 'Add receiver' });
    expect(button('Add receiver').disabled).toBe(true);
    enter(/^Name/, 'chat');
    expect(button('Add receiver').disabled, 'no address').toBe(true);
    enter(/^Address/, ' https://hooks.example.org/a ');
    expect(await submit('Add receiver')).toEqual([
      'POST',
      '/v1/webhooks',
      {
        name: 'chat',
        kind: 'webhook',
        url: 'https://hooks.example.org/a',
        secret: '',
        ca: '',
        events: 'alarms',
        min_severity: 'WARNING',
      },
    ]);
    expect(client.getQueryState(webhooksQuery.queryKey)?.isInvalidated).toBe(true);
  });

  it('has events, severity, CA and secret that the user chooses', async () => {
    showAdd();
    enter(/^Name/, 'chat');
    enter(/^Address/, 'https://hooks.example.org/a');
    enter(/^Messages/, 'all');
    enter(/^Minimum severity/, 'ERROR');
    enter(/^Trusted CAs/, 'PEM');
    screen.getByText(/^Optional; signs each message/);
    enter(/^Secret/, 's3cret');
    expect((await submit('Add receiver'))[2]).toMatchObject({
      events: 'all',
      min_severity: 'ERROR',
      ca: 'PEM',
      secret: 's3cret',
    });
  });

  it('requires a valid address', () => {
    showAdd();
    enter(/^Name/, 'chat');
    enter(/^Address/, 'hooks.example.org');
    screen.getByText('The address must start with https:// or http://');
    expect(button('Add receiver').disabled).toBe(true);
    enter(/^Address/, '');
    expect(screen.queryByText(/^The address must/)).toBeNull();
    expect(button('Add receiver').disabled).toBe(true);
  });

  it('has empty fields again after a change of its type, except for its name', async () => {
    showAdd();
    enter(/^Name/, 'ops');
    enter(/^Address/, 'https://hooks.example.org/a');
    enter(/^Messages/, 'audit');
    enter(/^Trusted CAs/, 'PEM');
    enter(/^Secret/, 's3cret');
    enter(/^Type/, 'email');
    expect(screen.queryByLabelText(/^Secret/)).toBeNull();
    expect(screen.queryByLabelText(/^Trusted CAs/)).toBeNull();
    expect(field(/^Address/).value).toBe('');
    enter(/^Address/, 'ops@example.org');
    expect((await submit('Add receiver'))[2]).toEqual({
      name: 'ops',
      kind: 'email',
      url: 'mailto:ops@example.org',
      secret: '',
      ca: '',
      events: 'alarms',
      min_severity: 'WARNING',
    });
  });

  it('gets all audit records, unless the user chooses a severity', async () => {
    showAdd();
    enter(/^Type/, 'syslog');
    enter(/^Name/, 'siem');
    enter(/^Address/, 'syslog+tls://siem.example.org');
    enter(/^Messages/, 'audit');
    expect(field(/^Minimum severity/).value).toBe('INFO');
    screen.getByText('Rejected and failed requests have the severity warning.');
    expect((await submit('Add receiver'))[2]).toMatchObject({
      events: 'audit',
      min_severity: 'INFO',
    });
  });

  it('gets only alarms if it is an Alertmanager', () => {
    showAdd();
    enter(/^Type/, 'alertmanager');
    expect(screen.queryByLabelText(/^Messages/)).toBeNull();
    expect(screen.queryByLabelText(/^Secret/)).toBeNull();
  });

  it('is not added if the console refuses it', async () => {
    answered.mockImplementation(async () =>
      Response.json({ error_code: 'x', description: 'The name is in use.' }, { status: 409 }),
    );
    showAdd();
    enter(/^Name/, 'chat');
    enter(/^Address/, 'https://hooks.example.org/a');
    fireEvent.click(button('Add receiver'));
    expect((await screen.findByRole('alert')).textContent).toBe('The name is in use.');
    expect(closed).not.toHaveBeenCalled();
  });
});

describe('a receiver', () => {
  it('is saved only if a field differs', () => {
    showEdit();
    screen.getByRole('dialog', { name: 'Edit receiver chat' });
    expect(screen.queryByLabelText(/^Type/)).toBeNull();
    expect(button('Save').disabled).toBe(true);
    enter(/^Name/, 'talk');
    expect(button('Save').disabled).toBe(false);
    enter(/^Name/, 'chat');
    expect(button('Save').disabled).toBe(true);
    enter(/^Name/, '');
    expect(button('Save').disabled).toBe(true);
    enter(/^Name/, 'talk');
    enter(/^Address/, 'ftp://a');
    expect(button('Save').disabled).toBe(true);
  });

  it('keeps its secret and all other fields, even if its address changes', async () => {
    showEdit();
    screen.getByText(KEPT);
    enter(/^Address/, 'https://hooks.example.org/b');
    screen.getByText(KEPT);
    expect(await submit('Save')).toEqual([
      'PUT',
      '/v1/webhooks/7',
      { url: 'https://hooks.example.org/b' },
    ]);
    expect(client.getQueryState(webhooksQuery.queryKey)?.isInvalidated).toBe(true);
  });

  it('gets a new secret', async () => {
    showEdit({ ...HOOK, is_signed: false });
    expect(screen.queryByText(KEPT)).toBeNull();
    enter(/^Secret/, 's3cret');
    expect((await submit('Save'))[2]).toEqual({ secret: 's3cret' });
  });

  it('gets new messages and loses its CA', async () => {
    showEdit();
    expect(field(/^Trusted CAs/).value).toBe('THE CA');
    enter(/^Trusted CAs/, '');
    enter(/^Messages/, 'audit');
    expect((await submit('Save'))[2]).toEqual({ ca: '', events: 'audit', min_severity: 'INFO' });
  });

  it('is edited without the scheme of its email addresses', async () => {
    showEdit({ ...HOOK, kind: 'email', url: 'mailto:ann@example.org', is_signed: false, ca: '' });
    expect(field(/^Address/).value).toBe('ann@example.org');
    enter(/^Address/, 'ann@example.org, bob@example.org');
    expect((await submit('Save'))[2]).toEqual({ url: 'mailto:ann@example.org, bob@example.org' });
  });

  it('is removed', async () => {
    showRemove();
    screen.getByText(/hooks\.example\.org\/a gets no further messages/);
    expect(await submit('Remove receiver')).toEqual(['DELETE', '/v1/webhooks/7', null]);
    expect(client.getQueryState(webhooksQuery.queryKey)?.isInvalidated).toBe(true);
  });

  it('is removed with a note about audit records', () => {
    showRemove({ ...HOOK, events: 'audit' });
    screen.getByText(/gets no further audit records/);
  });
});
