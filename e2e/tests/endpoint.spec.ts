/** The Endpoint tab: commands for clients work, and metrics are shown. */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import type { Page } from '@playwright/test';
import { examine } from '../appearance.ts';
import { copiedBy } from '../clipboard.ts';
import { expect, test } from '../fixtures.ts';
import { DatabasePage } from '../pages/database.ts';
import { createSmall } from '../rest.ts';
import { stackInfo } from '../stack.ts';

/** Copy the commands that connect a client. */
async function copied(page: Page, client: string): Promise<string> {
  const connect = page.getByRole('region', { name: 'Connect' });
  await connect.getByLabel('Client').selectOption({ label: client });
  const copy = connect.getByRole('button', { name: `Copy snippet for ${client}` });
  return copiedBy(page, () => copy.click());
}

function run(line: string, ...words: string[]): string {
  const [program = '', ...options] = line.split(' ');
  const answer = execFileSync(program, [...options, ...words], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  return answer.toString().trim();
}

/** Like `run`, but return an error as text, for polling. */
function tried(line: string, ...words: string[]): string {
  try {
    return run(line, ...words);
  } catch (error) {
    return String(error);
  }
}

test('a cluster endpoint shows proxies, live figures, latency and threads', async ({
  page,
  api,
}) => {
  const { bdb, addresses } = stackInfo();
  const database = new DatabasePage(page);
  await database.open(bdb, 'metrics');
  await database.tab('Endpoint');
  const proxies = page.getByRole('table', { name: 'Proxies' }).locator('tbody').getByRole('row');
  await expect(proxies).toHaveCount(addresses.length);
  for (const [index, address] of addresses.entries()) {
    const row = proxies.nth(index);
    await expect(row).toContainText('Active');
    await expect(row).toContainText(address);
    await expect(row).toContainText(/\d\sops\/s/);
  }
  // Cluster clients send no requests to a node without primaries, so not every proxy has a latency.
  await expect(proxies.filter({ hasText: /\d\s(µs|ms)/ }).first()).toBeVisible();
  await expect(database.figure('Read latency', 'P99.9', 'last')).toHaveText(/^[\d.]+$/);

  const commands = page.getByRole('table', { name: 'Commands' });
  await commands.scrollIntoViewIfNeeded();
  const get = commands.getByRole('row').filter({ hasText: /^GET/i });
  await expect(get).toContainText(/\d\s(µs|ms)/);
  await examine(page, 'endpoint-commands');

  expect(run(await copied(page, 'valkey-cli'), 'PING')).toBe('PONG');
  expect(await copied(page, 'redis-py')).toContain('redis.RedisCluster(host=');
  expect(await copied(page, 'go-redis')).toContain('redis.NewClusterClient(');

  const { threads } = (await (await api.get('/v1/proxies/1')).json()) as { threads: number };
  const other = threads === 1 ? 2 : 1;
  await page.getByRole('button', { name: 'Threads of node 1' }).click();
  const dialog = page.getByRole('dialog', { name: 'Proxy threads of node 1' });
  await dialog.getByLabel('Threads', { exact: true }).fill('0');
  await expect(dialog.getByRole('button', { name: 'Save' })).toBeDisabled();
  await dialog.getByLabel('Threads', { exact: true }).fill(String(other));
  await dialog.getByRole('button', { name: 'Save' }).click();
  await expect(dialog).toHaveCount(0);
  await expect(proxies.first().getByRole('cell').last()).toHaveText(String(other));
  await api.put('/v1/proxies/1', { data: { proxy: { threads } } });
  await expect(proxies.first().getByRole('cell').last()).toHaveText(String(threads));
});

test('an endpoint without the Cluster API accepts any client, and shows when there were no requests', async ({
  page,
  api,
}) => {
  const { uid } = await createSmall(api, 'plain');
  await new DatabasePage(page).open(uid, 'endpoint');
  await expect(page.getByRole('region', { name: 'Endpoint', exact: true })).toContainText(
    'any client works',
  );
  const line = await copied(page, 'valkey-cli');
  expect(line).not.toContain(' -c ');
  await expect.poll(() => tried(line, 'SET', 'greeting', 'hello')).toBe('OK');
  expect(run(line, 'GET', 'greeting')).toBe('hello');
  await expect(page.getByRole('region', { name: 'Latency of other commands' })).toContainText(
    'No requests in this time range',
  );
});

test('commands contain placeholders for secrets and work with the real values', async ({
  page,
  api,
}, testInfo) => {
  const password = 'correct-horse';
  const settings = { authentication_redis_pass: password, tls_mode: 'enabled' };
  const { uid } = await createSmall(api, 'guarded', settings);
  await new DatabasePage(page).open(uid, 'endpoint');
  const facts = page.getByRole('region', { name: 'Endpoint', exact: true });
  await expect(facts).toContainText('connections are encrypted');
  await expect(facts).toContainText('Password required');
  const line = await copied(page, 'valkey-cli');
  expect(line).not.toContain(password);
  const ca = testInfo.outputPath('ca.pem');
  writeFileSync(ca, await (await api.get('/v1/ca')).body());
  const real = line.replaceAll("'", '').replace('ca.pem', ca).replace('<password>', password);
  await expect.poll(() => tried(real, 'PING')).toBe('PONG');
});

test('changing the internal password does not affect clients', { tag: '@slow' }, async ({
  page,
  api,
}) => {
  const { uid } = await createSmall(api, 'inside');
  await new DatabasePage(page).open(uid, 'endpoint');
  const line = await copied(page, 'valkey-cli');
  await expect.poll(() => tried(line, 'SET', 'kept', 'yes')).toBe('OK');
  await page.getByRole('button', { name: 'Database actions' }).click();
  await page.getByRole('menuitem', { name: 'Change internal password…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Change the internal password of inside?' });
  await examine(page, 'internal-password');
  await dialog.getByRole('button', { name: 'Change password' }).click();
  await expect(dialog).toBeHidden();
  await expect
    .poll(async () =>
      (await (await api.get('/v1/logs')).text()).includes('bdb_admin_password_reset'),
    )
    .toBe(true);
  expect(run(line, 'GET', 'kept')).toBe('yes');
});

test('traffic is stopped and resumed', { tag: '@slow' }, async ({ page, api }) => {
  const { uid } = await createSmall(api, 'kept-out');
  await new DatabasePage(page).open(uid, 'endpoint');
  const line = await copied(page, 'valkey-cli');
  await expect.poll(() => tried(line, 'SET', 'kept', 'yes')).toBe('OK');

  await page.getByRole('button', { name: 'Database actions' }).click();
  await page.getByRole('menuitem', { name: 'Stop traffic…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Stop traffic to kept-out?' });
  await examine(page, 'stop-traffic');
  await dialog.getByRole('textbox').fill('kept-out');
  await dialog.getByRole('button', { name: 'Stop traffic' }).click();
  await expect(dialog).toBeHidden();
  const notice = page.getByRole('alert').filter({ hasText: 'Traffic to kept-out is stopped' });
  await expect(notice.getByRole('button', { name: 'Resume traffic' })).toBeEnabled();
  await expect(page.getByText('Traffic stopped', { exact: true })).toBeVisible();
  await expect(page.getByRole('table', { name: 'Proxies' })).toContainText('Closed');
  await examine(page, 'traffic-stopped');
  expect(() => run(line, 'PING')).toThrow();
  await page.getByRole('link', { name: 'Overview' }).click();
  await page.getByRole('link', { name: 'Traffic to kept-out is stopped' }).click();

  await notice.getByRole('button', { name: 'Resume traffic' }).click();
  await expect(notice).toBeHidden();
  await expect.poll(() => tried(line, 'GET', 'kept')).toBe('yes');
});
