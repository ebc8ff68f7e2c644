/** Receivers of notifications and alert thresholds. */
import { createServer, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { examine, examineInAll } from '../appearance.ts';
import { expect, test } from '../fixtures.ts';
import { Frame } from '../pages/frame.ts';

interface Message {
  text: string;
  state: string;
  event: { type: string } | null;
}

/** HTTP server that stores received messages, or returns errors while `isFailing` is set. */
class Receiver {
  readonly got: Message[] = [];
  isFailing = false;
  private readonly server: Server = createServer((request, response) => {
    let body = '';
    request.on('data', (part) => {
      body += part;
    });
    request.on('end', () => {
      if (!this.isFailing) this.got.push(JSON.parse(body));
      response.writeHead(this.isFailing ? 500 : 204).end();
    });
  });

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/hook`;
  }

  close(): void {
    this.server.close();
  }
}

test('alert thresholds of a database and of nodes are set, and an alarm is shown', {
  tag: '@slow',
}, async ({ page, api }) => {
  await page.goto('/databases/1/configuration');
  const alerts = page.getByRole('region', { name: 'Alert thresholds' });
  await alerts.getByLabel('Throughput below', { exact: true }).check();
  const limit = alerts.getByLabel('Throughput below, ops/s');
  await limit.fill('lots');
  await expect(alerts.getByText('Enter a number, such as 80')).toBeVisible();
  await expect(alerts.getByRole('button', { name: 'Save' })).toBeDisabled();
  await limit.fill('900000000');
  await alerts.getByRole('button', { name: 'Save' }).click();
  await expect(alerts.getByText('Raised', { exact: true })).toBeVisible();
  await examine(page, 'alerts');
  await page.goto('/');
  await expect(
    page.getByRole('link', { name: 'demo receives fewer than 900,000,000 requests per second' }),
  ).toBeVisible();
  await page.getByRole('link', { name: /^Activity, \d+\sactive alarms?$/ }).click();
  await new Frame(page).openTab('Activity', 'Alarms');
  const raised = page.getByRole('table', { name: 'Active alarms' }).getByRole('row');
  await expect(raised.filter({ hasText: 'demo receives fewer than' })).toBeVisible();
  await examine(page, 'alarms-raised');
  await page.goto('/databases/1/configuration');
  await alerts.getByLabel('Throughput below', { exact: true }).uncheck();
  await alerts.getByRole('button', { name: 'Save' }).click();
  await expect(alerts.getByText('Raised', { exact: true })).toBeHidden();

  await page.goto('/settings#notifications');
  const cluster = page.getByRole('region', { name: 'Alert thresholds of nodes and the cluster' });
  await cluster.getByLabel('Memory usage above', { exact: true }).check();
  await cluster.getByLabel('The number of nodes is even').check();
  await cluster.getByRole('button', { name: 'Save' }).click();
  await expect(cluster.getByRole('button', { name: 'Save' })).toBeDisabled();
  await page.reload();
  await expect(cluster.getByLabel('Memory usage above', { exact: true })).toBeChecked();
  await examine(page, 'alerts-of-nodes');
  const off = { node_memory: { enabled: false }, cluster_even_node_count: false };
  expect((await api.put('/v1/cluster', { data: { alert_settings: off } })).status()).toBe(200);
});

test('a webhook is added, tested, gets messages, and is removed', async ({ page, api }) => {
  const receiver = new Receiver();
  const url = await receiver.listen();
  const frame = new Frame(page);
  const action = async (name: string) => {
    await page.getByRole('button', { name: 'Actions for chat' }).click();
    await page.getByRole('menuitem', { name }).click();
  };
  try {
    await page.goto('/settings#notifications');
    await expect(page.getByText('No receivers yet')).toBeVisible();
    await page.getByRole('button', { name: 'Add receiver' }).click();
    const adding = frame.dialog('Add receiver');
    await adding.getByLabel('Name').fill('chat');
    await adding.getByLabel('Address').fill(url);
    await adding.getByLabel('Messages').selectOption('all');
    await adding.getByLabel('Minimum severity').selectOption('INFO');
    await adding.getByRole('button', { name: 'Add receiver' }).click();
    const row = page.getByRole('row').filter({ hasText: url });
    await expect(row).toContainText('All events');

    await action('Send test message');
    await expect(page.getByText('The test message was delivered to chat.')).toBeVisible();
    // The event about the creation of the receiver can arrive before or after the test message.
    const texts = receiver.got.map(({ text }) => text);
    expect(texts).toContainEqual(expect.stringMatching(/^\[TEST\] /));

    const user = { email: 'told@example.org', password: 'long enough', role: 'none' };
    expect((await api.post('/v1/users', { data: user })).status()).toBe(200);
    const types = () => receiver.got.map(({ event }) => event?.type);
    await expect.poll(types).toContain('user_created');
    await expect(row).toContainText('Up to date');
    await examine(page, 'notifications');

    await action('Mute for 1 hour');
    await expect(row).toContainText('Muted until');
    await action('Unmute');
    await expect(row).toContainText('Up to date');

    receiver.isFailing = true;
    await action('Send test message');
    await expect(page.getByText('It responded with 500 Internal Server Error.')).toBeVisible();
    await action('Remove');
    await frame
      .dialog('Remove receiver chat?')
      .getByRole('button', { name: 'Remove receiver' })
      .click();
    await expect(page.getByText('No receivers yet')).toBeVisible();
  } finally {
    receiver.close();
  }
});

test('audit records are sent to a syslog server', { tag: '@slow' }, async ({ page, api }) => {
  let got = '';
  const server = createTcpServer((socket) => {
    socket.on('data', (part) => {
      got += part;
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `syslog+tcp://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const frame = new Frame(page);
  try {
    await page.goto('/settings#notifications');
    await page.getByRole('button', { name: 'Add receiver' }).click();
    const adding = frame.dialog('Add receiver');
    await adding.getByLabel('Type').selectOption('Syslog');
    await adding.getByLabel('Name').fill('siem');
    await adding.getByLabel('Address').fill('syslog+tls://siem.example.org');
    await expect(adding.getByLabel('Trusted CAs')).toBeVisible();
    await adding.getByLabel('Messages').selectOption('audit');
    await expect(adding.getByLabel('Minimum severity')).toHaveValue('INFO');
    await examineInAll(page, 'receiver-syslog');
    await adding.getByLabel('Address').fill(url);
    await expect(adding.getByLabel('Trusted CAs')).toBeHidden();
    await adding.getByRole('button', { name: 'Add receiver' }).click();
    const row = page.getByRole('row').filter({ hasText: url });
    await expect(row).toContainText('Audit log');
    await page.getByRole('button', { name: 'Actions for siem' }).click();
    await expect(page.getByRole('menuitem', { name: /Mute/ })).toHaveCount(0);
    await page.getByRole('menuitem', { name: 'Send test message' }).click();
    await expect(page.getByText('The test message was delivered to siem.')).toBeVisible();
    expect((await api.delete('/v1/redis_acls/4711')).status()).toBe(404);
    await expect.poll(() => got).toContain('path="/v1/redis_acls/4711" outcome="failed"');
    expect(got).toContain('[TEST] ');
    expect(got).toMatch(/^\d+ <\d+>1 \d{4}-/);
    await expect(row).toContainText('Up to date');
    await page.getByRole('button', { name: 'Actions for siem' }).click();
    await page.getByRole('menuitem', { name: 'Remove' }).click();
    await frame
      .dialog('Remove receiver siem?')
      .getByRole('button', { name: 'Remove receiver' })
      .click();
    await expect(row).toHaveCount(0);
  } finally {
    server.close();
  }
});
