// @dom
import { MantineProvider } from '@mantine/core';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { act, fireEvent, render, screen, waitFor } from '@testing-library/react';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ConsoleCa } from './ConsoleCa';

const authority = (name: string, external = false) => ({
  subject: `CN=${name}`,
  issuer: external ? 'CN=Corporate Root' : `CN=${name}`,
  external,
  root_known: !external,
  valid_from: '2026-01-01T00:00:00Z',
  valid_until: '2036-01-01T00:00:00Z',
  fingerprint: 'ab'.repeat(32),
  certificate: 'PEM',
});
const STATE = {
  step: '',
  present: authority('Present'),
  following: null,
  former: null,
  request: null,
  nodes: [] as { uid: number; addr: string; waits_for: string }[],
};
let state: object = STATE;
const requests: string[] = [];
let answer: () => Response;

beforeEach(() => {
  state = STATE;
  requests.length = 0;
  answer = () => Response.json({});
  vi.stubGlobal('fetch', async (path: string, init: RequestInit) => {
    if (init.method === 'GET' || !init.method) {
      return Response.json(path.includes('authority') ? state : { console: { source: 'own' } });
    }
    requests.push(`${init.method} ${path} ${init.body ?? ''}`.trim());
    return answer();
  });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

function show(may = true) {
  const client = new QueryClient({ defaultOptions: { queries: { retry: 0 } } });
  render(
    <MantineProvider env="test">
      <QueryClientProvider client={client}>
        <ConsoleCa may={may} />
      </QueryClientProvider>
    </MantineProvider>,
  );
}
const button = (name: string) => screen.getByRole('button', { name }) as HTMLButtonElement;
const press = async (name: string) => fireEvent.click(await screen.findByRole('button', { name }));

describe('ConsoleCa', () => {
  it('announces a new CA', async () => {
    show();
    await screen.findByText('itself (root CA)');
    await press('Replace CA…');
    await press('Announce new CA');
    await waitFor(() => expect(requests).toEqual(['POST /v1/cluster/authority/announce {}']));
  });

  it('lists nodes that are not ready, and switches when all are ready', async () => {
    vi.useFakeTimers();
    const nodes = [
      { uid: 1, addr: '10.0.0.1', waits_for: '' },
      { uid: 2, addr: '10.0.0.2', waits_for: 'its agent is not connected' },
    ];
    state = { ...STATE, step: 'announced', following: authority('Next'), nodes };
    show();
    const pass = () => act(() => vi.advanceTimersByTimeAsync(4000));
    await pass();
    screen.getByText('CN=Next');
    screen.getByText('Ready: 1 of 2 nodes. Not ready:');
    screen.getByText('Node 2 (10.0.0.2): its agent is not connected.');
    expect(button('Switch to next CA…').disabled).toBe(true);
    expect(button('Switch to next CA…').title).toBe('Not all nodes trust the next CA yet');
    state = { ...state, nodes: nodes.map((node) => ({ ...node, waits_for: '' })) };
    await pass();
    screen.getByText('All nodes are ready.');
    fireEvent.click(button('Switch to next CA…'));
    await pass();
    screen.getByText(/If your browser does not trust/);
    state = { ...STATE, step: 'shown', former: authority('Former'), nodes };
    fireEvent.click(button('Switch'));
    await pass();
    expect(requests).toEqual(['POST /v1/cluster/authority/switch']);
    screen.getByText('Step 2 of 2: all nodes receive certificates of this CA');
    expect(screen.queryByRole('button', { name: 'Withdraw next CA…' })).toBeNull();
    state = STATE;
    await pass();
    expect(screen.queryByText(/Step 2/)).toBeNull();
  });

  it('shows the fields of an externally signed certificate before announcing it', async () => {
    show();
    await press('Create signing request…');
    fireEvent.change(screen.getByLabelText('Organization'), { target: { value: ' Example ' } });
    state = { ...STATE, request: { subject: 'CN=Shardboard CA,O=Example', csr: 'THE CSR' } };
    await press('Create request');
    const link = await screen.findByRole('link', { name: 'Download request' });
    expect(link.getAttribute('href')).toBe('data:application/pkcs10,THE%20CSR');
    expect(requests).toEqual([
      'POST /v1/cluster/authority/request {"common_name":"","organization":"Example"}',
    ]);
    await press('Enter certificate…');
    fireEvent.change(screen.getByLabelText(/^Certificate chain/), {
      target: { value: 'PEM' },
    });
    answer = () => Response.json(authority('Ours', true));
    await press('Check certificate');
    await screen.findByText('CN=Corporate Root');
    screen.getByText(/The root CA is not among the certificates/);
    await press('Announce CA');
    await waitFor(() =>
      expect(requests.slice(1)).toEqual([
        'POST /v1/cluster/authority/announce?dry_run=true {"certificate":"PEM"}',
        'POST /v1/cluster/authority/announce {"certificate":"PEM"}',
      ]),
    );
  });

  it('requires a certificate, and stays open if the console refuses it', async () => {
    state = { ...STATE, request: { subject: 'CN=Shardboard CA', csr: 'THE CSR' } };
    show();
    await press('Enter certificate…');
    expect(button('Check certificate').disabled).toBe(true);
    const certificate = screen.getByLabelText(/^Certificate chain/);
    fireEvent.change(certificate, { target: { value: ' ' } });
    expect(button('Check certificate').disabled).toBe(true);
    fireEvent.change(certificate, { target: { value: 'PEM' } });
    answer = () =>
      Response.json({ error_code: 'x', description: 'The key differs.' }, { status: 400 });
    await press('Check certificate');
    await screen.findByText('The key differs.');
    screen.getByRole('dialog', { name: 'Enter certificate' });
    expect(screen.queryByText('Announce this CA?')).toBeNull();
  });

  it('trims the names of a signing request', async () => {
    show();
    await press('Create signing request…');
    fireEvent.change(screen.getByLabelText('Name'), { target: { value: ' Our CA ' } });
    await press('Create request');
    await waitFor(() =>
      expect(requests).toEqual([
        'POST /v1/cluster/authority/request {"common_name":"Our CA","organization":""}',
      ]),
    );
  });

  it('withdraws a signing request', async () => {
    state = { ...STATE, request: { subject: 'CN=Shardboard CA', csr: 'THE CSR' } };
    show();
    await press('Withdraw request…');
    screen.getByRole('dialog', { name: 'Withdraw the signing request?' });
    screen.getByText(/^The key of the request is deleted/);
    state = STATE;
    await press('Withdraw');
    await waitFor(() => expect(requests).toEqual(['DELETE /v1/cluster/authority/next']));
    await screen.findByRole('button', { name: 'Create signing request…' });
  });

  it('lists nodes that have not received the current list of trusted CAs', async () => {
    state = { ...STATE, nodes: [{ uid: 2, addr: '10.0.0.2', waits_for: 'its disk is full' }] };
    show();
    await screen.findByText('Node 2 (10.0.0.2): its disk is full.');
    screen.getByText('Some nodes have not received the current list of trusted CAs');
  });

  it('shows in the dialog why a withdrawal was refused', async () => {
    state = { ...STATE, step: 'announced', following: authority('Next') };
    answer = () =>
      Response.json({ error_code: 'x', description: 'It is too late.' }, { status: 409 });
    show();
    await press('Withdraw next CA…');
    await press('Withdraw');
    await screen.findByText(/It is too late/);
    expect(requests).toEqual(['DELETE /v1/cluster/authority/next']);
  });

  it('is read-only for roles without the permission', async () => {
    show(false);
    await screen.findByText('CN=Present');
    expect(button('Replace CA…').disabled).toBe(true);
    expect(button('Create signing request…').title).not.toBe('');
  });
});
