// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { fireEvent, render, screen, waitFor } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ConsoleCertificate } from './ConsoleCertificate';

const STATE = {
  source: 'own',
  subject: 'CN=localhost',
  issuer: 'CN=Shardboard CA 1',
  names: ['127.0.0.1', 'localhost'],
  valid_from: '2026-01-01T00:00:00Z',
  valid_until: '2028-01-01T00:00:00Z',
  fingerprint: 'ab12',
};
const PEMS = { certificate: 'CERT', key: 'KEY' };
const puts: { query: string; body: unknown }[] = [];
let source = 'own';
let names = ['example.com'];
let rejection: object | undefined;

const answered = vi.fn(async (path: string, init: RequestInit) => {
  if (init.method === 'GET') return Response.json({ console: { ...STATE, source } });
  if (init.method === 'DELETE') {
    source = 'own';
    return Response.json({});
  }
  puts.push({ query: path.split('?')[1] ?? '', body: JSON.parse(String(init.body)) });
  if (rejection) return Response.json(rejection, { status: 400 });
  if (!path.includes('?')) source = 'installed';
  return Response.json({ ...STATE, source: 'installed', names });
});

beforeEach(() => {
  puts.length = 0;
  source = 'own';
  names = ['example.com'];
  rejection = undefined;
  vi.stubGlobal('fetch', answered);
});
afterEach(() => vi.unstubAllGlobals());

const show = (may = true) =>
  render(
    <MantineProvider env="test">
      <QueryClientProvider client={new QueryClient({ defaultOptions: { queries: { retry: 0 } } })}>
        <ConsoleCertificate may={may} />
      </QueryClientProvider>
    </MantineProvider>,
  );
const button = (name: string) => screen.getByRole('button', { name });
const fill = (label: RegExp, value: string) =>
  fireEvent.change(screen.getByRole('textbox', { name: label }), { target: { value } });

async function check() {
  await screen.findByText('CN=Shardboard CA 1');
  fireEvent.click(button('Install certificate…'));
  fill(/^Certificate/, PEMS.certificate);
  expect((button('Check certificate') as HTMLButtonElement).disabled).toBe(true);
  fill(/^Private key/, PEMS.key);
  fireEvent.click(button('Check certificate'));
}

describe('ConsoleCertificate', () => {
  it('checks the certificate and shows its fields before installing it', async () => {
    show();
    await check();
    await screen.findByText('Install this certificate?');
    screen.getByText('example.com');
    screen.getByText(/is not valid for localhost/);
    expect(puts.map(({ query }) => query)).toEqual(['dry_run=true']);
    fireEvent.click(button('Install'));
    await screen.findByText('Installed by an administrator');
    const body = { certificates: [{ name: 'api', ...PEMS }] };
    expect(puts).toEqual([
      { query: 'dry_run=true', body },
      { query: '', body },
    ]);
    fireEvent.click(button('Remove installed certificate…'));
    fireEvent.click(button('Remove certificate'));
    await screen.findByText(/The console CA, which browsers/);
  });

  it('does not warn about a host name that the certificate is valid for', async () => {
    names = ['localhost'];
    show();
    await check();
    await screen.findByText('Install this certificate?');
    expect(screen.queryByText(/is not valid for/)).toBeNull();
  });

  it('shows in the dialog why a certificate is invalid', async () => {
    rejection = {
      error_code: 'invalid_certificate',
      description: 'The key does not match CN=a, the first certificate.',
    };
    show();
    await check();
    await screen.findByText(/does not match CN=a/);
    expect(screen.queryByText('Install this certificate?')).toBeNull();
    screen.getByText('Install certificate');
  });

  it('reads a PEM file', async () => {
    show();
    await screen.findByText('CN=Shardboard CA 1');
    fireEvent.click(button('Install certificate…'));
    const [, keyFile] = document.querySelectorAll('input[type=file]');
    fireEvent.change(keyFile as HTMLElement, {
      target: { files: [new File(['FROM FILE'], 'key.pem')] },
    });
    await waitFor(() =>
      expect(
        (screen.getByRole('textbox', { name: /^Private key/ }) as HTMLTextAreaElement).value,
      ).toBe('FROM FILE'),
    );
  });

  it('is read-only for other roles and for a certificate from the settings', async () => {
    source = 'settings';
    const { unmount } = show();
    await screen.findByText(/SHARDBOARD_TLS_CERT/);
    expect(screen.queryByRole('button', { name: 'Install certificate…' })).toBeNull();
    unmount();
    source = 'installed';
    show(false);
    await screen.findByText('Installed by an administrator');
    for (const name of ['Install certificate…', 'Remove installed certificate…'])
      expect((button(name) as HTMLButtonElement).disabled).toBe(true);
  });
});
