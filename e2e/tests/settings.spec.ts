/** The Settings page: cluster settings, certificates, CAs and the support bundle. */
import { execFileSync } from 'node:child_process';
import { connect } from 'node:tls';
import { examine, examineInAll } from '../appearance.ts';
import { expect, test } from '../fixtures.ts';
import { NodesPage } from '../pages/nodes.ts';
import { createSmall } from '../rest.ts';
import { stackInfo } from '../stack.ts';

test('a setting is changed, stored, and reset', async ({ page, api }) => {
  const rule = page.getByRole('textbox', { name: 'Events per type' });
  const stored = async () => (await (await api.get('/v1/cluster/policy')).json()) as object;
  await page.goto('/settings');
  await expect(rule).toHaveValue('5 000');
  await rule.fill('7000');
  await page.getByRole('button', { name: /Save 1\schange/ }).click();
  await expect.poll(stored).toMatchObject({ max_saved_events_per_type: 7000 });
  await page.reload();
  await expect(rule).toHaveValue('7 000');
  await page.getByRole('button', { name: 'Events per type: reset to default' }).click();
  await page.getByRole('button', { name: /Save 1\schange/ }).click();
  await expect.poll(stored).toMatchObject({ max_saved_events_per_type: 5000 });
});

test('the support bundle contains the logs of the console and of all nodes', async ({
  page,
  api,
}) => {
  const [{ uid }] = (await (await api.get('/v1/nodes')).json()) as [{ uid: number }];
  await page.goto('/settings');
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download support bundle' }).click();
  const file = await download;
  expect(file.suggestedFilename()).toMatch(/^shardboard-cluster-\d{8}T\d{6}Z\.tar\.gz$/);
  const archive = execFileSync('tar', ['-tzf', await file.path()], { encoding: 'utf8' });
  const names = archive.split('\n').map((name) => name.replace(/^[^/]*\//, ''));
  for (const name of [
    'README.txt',
    'databases.json',
    'logs/console.log',
    `logs/node-${uid}/agent.log`,
  ])
    expect(names).toContain(name);
});

/** Return a certificate and key of another CA, for the host names of the console. */
function signedCertificate(): { certificate: string; key: string } {
  const python = new URL('../../.venv/bin/python', import.meta.url).pathname;
  const script = `
import json
from backend.tests.support.certificates import sign
signed = sign('E2E', names=('console.example.com', 'localhost'))
print(json.dumps({'certificate': signed.pem, 'key': signed.key_pem}))`;
  const cwd = new URL('../..', import.meta.url).pathname;
  return JSON.parse(execFileSync(python, ['-c', script], { cwd, encoding: 'utf8' }));
}

/** Return the common name of the certificate that the console serves. */
const servedName = (url: string) =>
  new Promise<string>((resolve, reject) => {
    const { hostname, port } = new URL(url);
    // The certificate is only inspected, so it need not be trusted.
    const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false });
    socket.once('error', reject);
    socket.once('secureConnect', () => {
      resolve(String(socket.getPeerCertificate().subject?.CN));
      socket.end();
    });
  });

test('the CAs between nodes are replaced step by step', { tag: '@slow' }, async ({ page, api }) => {
  await createSmall(api, 'sealed');
  await page.goto('/settings');
  const table = page.getByRole('table', { name: 'Certificates between nodes' });
  const row = table.getByRole('row').filter({ hasText: 'sealed' });
  await expect(row).toContainText('SHA-256');
  const before = await row.getByRole('cell').last().textContent();
  await examineInAll(page, 'certificates-between-nodes');
  await page.getByRole('button', { name: 'Replace CAs…' }).click();
  const dialog = page.getByRole('dialog', { name: /^Replace the CAs/ });
  await examine(page, 'authorities-replaced');
  await dialog.getByRole('button', { name: 'Replace CAs' }).click();
  await expect(dialog).toBeHidden();
  // Wait for a different CA after the replacement.
  const authority = row.getByRole('cell').last();
  await expect(authority).not.toHaveText(before ?? '', { timeout: 60_000 });
  await expect(authority).toContainText('SHA-256', { timeout: 60_000 });
  await expect(authority).not.toHaveText(before ?? '');
  await row.getByRole('link', { name: 'sealed' }).click();
  await expect(page.getByRole('heading', { name: 'sealed' })).toBeVisible();
});

test('an installed certificate is served immediately, and can be removed', {
  tag: '@slow',
}, async ({ page, api }) => {
  const { https_url } = stackInfo();
  const before = await servedName(https_url);
  const { certificate, key } = signedCertificate();
  await page.goto('/settings');
  await page.getByRole('button', { name: 'Install certificate…' }).click();
  const asking = page.getByRole('dialog', { name: 'Install certificate' });
  await asking.getByRole('textbox', { name: /^Certificate/ }).fill(certificate);
  await asking.getByRole('textbox', { name: /^Private key/ }).fill('not a key');
  await asking.getByRole('button', { name: 'Check certificate' }).click();
  await expect(asking.getByRole('alert')).toContainText('not a private key in PEM');
  await examine(page, 'certificate-refused');
  await asking.getByRole('textbox', { name: /^Private key/ }).fill(key);
  await asking.getByRole('button', { name: 'Check certificate' }).click();
  const checked = page.getByRole('dialog', { name: 'Install this certificate?' });
  await expect(checked).toContainText('console.example.com, localhost');
  expect(await servedName(https_url)).toBe(before);
  await examine(page, 'certificate-checked');
  await checked.getByRole('button', { name: 'Install' }).click();
  await expect(page.getByText('Installed by an administrator')).toBeVisible();
  expect(await servedName(https_url)).toBe('E2E');
  await examineInAll(page, 'certificate-installed');
  await page.getByRole('button', { name: 'Remove installed certificate…' }).click();
  await page.getByRole('button', { name: 'Remove certificate' }).click();
  await expect(page.getByText('The console CA, which browsers trust only if')).toBeVisible();
  expect(await servedName(https_url)).toBe(before);
  const events = await (await api.get('/v1/logs')).text();
  expect(events).not.toContain('PRIVATE KEY');
});

test('a next console CA is announced and withdrawn, and a signing request is created', {
  tag: '@slow',
}, async ({ page, api }) => {
  await page.goto('/settings');
  const before = await (await api.get('/v1/ca/bundle')).text();
  await page.getByRole('button', { name: 'Replace CA…' }).click();
  await examine(page, 'authority-replace');
  await page.getByRole('button', { name: 'Announce new CA' }).click();
  await expect(page.getByText('All nodes are ready.')).toBeVisible();
  await expect(page.getByText('Step 1 of 2')).toBeVisible();
  expect((await (await api.get('/v1/ca/bundle')).text()).startsWith(before)).toBe(true);
  await examineInAll(page, 'authority-announced');
  await page.getByRole('button', { name: 'Switch to next CA…' }).click();
  await examine(page, 'authority-change-over');
  await page.getByRole('button', { name: 'Cancel' }).click();
  await page.getByRole('button', { name: 'Withdraw next CA…' }).click();
  await page.getByRole('button', { name: 'Withdraw', exact: true }).click();
  await expect(page.getByText('Step 1 of 2')).toBeHidden();
  expect(await (await api.get('/v1/ca/bundle')).text()).toBe(before);
  await page.getByRole('button', { name: 'Create signing request…' }).click();
  await examine(page, 'authority-request');
  await page.getByRole('button', { name: 'Create request' }).click();
  const downloading = page.waitForEvent('download');
  await page.getByRole('link', { name: 'Download request' }).click();
  expect((await downloading).suggestedFilename()).toBe('shardboard-ca.csr');
  await page.getByRole('button', { name: 'Enter certificate…' }).click();
  const asking = page.getByRole('dialog', { name: 'Enter certificate' });
  await asking.getByRole('textbox').fill(signedCertificate().certificate);
  await asking.getByRole('button', { name: 'Check certificate' }).click();
  await expect(asking.getByRole('alert')).toContainText('does not match the key of the request');
  await examine(page, 'authority-refused');
  await asking.getByRole('button', { name: 'Cancel' }).click();
  await examineInAll(page, 'authority-requested');
  await page.getByRole('button', { name: 'Withdraw request…' }).click();
  await page.getByRole('button', { name: 'Withdraw', exact: true }).click();
  await expect(page.getByText('Signing request pending')).toBeHidden();
});

test.describe('zones', () => {
  test.afterEach(async ({ api }) => {
    await api.put('/v1/cluster/policy', { data: { rack_aware: false } });
    await api.put('/v1/nodes/1', { data: { rack_id: '', second_rack_id: '' } });
  });

  test('the zone of a node is set in a dialog, and shown in the table', async ({ page, api }) => {
    await page.goto('/settings');
    const policy = page.getByRole('switch', { name: 'Rack-zone awareness' });
    await policy.scrollIntoViewIfNeeded();
    await policy.check({ force: true });
    await page.getByRole('button', { name: /Save 1\schange/ }).click();
    await expect
      .poll(async () => (await (await api.get('/v1/cluster/policy')).json()).rack_aware)
      .toBe(true);
    await examineInAll(page, 'zone-policy');

    await page.goto('/nodes/1');
    await page.getByRole('button', { name: 'Node actions' }).click();
    await page.getByRole('menuitem', { name: 'Set zone…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Zone of node 1' });
    const zone = dialog.getByRole('combobox', { name: 'Zone', exact: true });
    await expect(zone).toBeVisible();
    await examine(page, 'set-zone');
    await zone.fill('zone 1!');
    await expect(dialog.getByRole('button', { name: 'Set zone' })).toBeDisabled();
    await examineInAll(page, 'set-zone-invalid');
    await zone.fill('zone-a');
    await dialog.getByRole('button', { name: 'Set zone' }).click();
    await expect(dialog).toHaveCount(0);

    const nodes = new NodesPage(page);
    await nodes.open();
    await expect(nodes.row(1)).toContainText('zone-a');
    await examineInAll(page, 'nodes-with-zones');
  });
});
