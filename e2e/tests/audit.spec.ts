/** The audit log in the web UI. */
import { readFile } from 'node:fs/promises';
import { examineInAll } from '../appearance.ts';
import { expect, test } from '../fixtures.ts';
import { Frame } from '../pages/frame.ts';

test('the audit log shows changes and denied requests, is intact and can be downloaded', async ({
  page,
  api,
  playwright,
  baseURL,
}) => {
  const name = `audited-${Date.now()}`;
  const made = await api.post('/v1/redis_acls', { data: { name, acl: '+@read ~*' } });
  expect(made.status()).toBe(200);
  const unknownUser = await playwright.request.newContext({
    ...(baseURL && { baseURL }),
    ignoreHTTPSErrors: true,
    extraHTTPHeaders: { Authorization: `Basic ${btoa(`mallory-${name}:guess`)}` },
  });
  expect((await unknownUser.delete('/v1/bdbs/1')).status()).toBe(401);
  await unknownUser.dispose();

  await page.goto('/');
  const frame = new Frame(page);
  await frame.goTo('Activity');
  await frame.openTab('Activity', 'Audit');
  await expect(page.getByText(/^Intact: \d+\srecords/)).toBeVisible();
  await page.getByLabel('Filter by text').fill(name);
  const table = page.getByRole('table', { name: 'Audit log' });
  await expect(table.getByRole('row')).toHaveCount(3);
  await expect(table.getByRole('row').nth(1)).toContainText('Rejected');
  await expect(table.getByRole('row').nth(1)).toContainText('not authenticated');
  await expect(table.getByRole('row').nth(2)).toContainText('POST /v1/redis_acls');
  await page.getByLabel('Outcome').selectOption('done');
  await expect(table.getByRole('row')).toHaveCount(2);
  await page.reload();
  await expect(table.getByRole('row'), 'the address keeps the filters').toHaveCount(2);
  await page.getByLabel('Outcome').selectOption('');
  await page.getByLabel('Filter by text').fill('');
  await examineInAll(page, 'audit');
  await page.getByLabel('Filter by text').fill('nothing has this in it');
  await expect(page.getByText('No records match these filters.')).toBeVisible();

  const waiting = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download audit log' }).click();
  const file = await readFile(await (await waiting).path(), 'utf8');
  const lines = file
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(lines[0].uid).toBe(1);
  expect(lines.some(({ detail }) => detail.includes(name))).toBe(true);

  await api.delete(`/v1/redis_acls/${(await made.json()).uid}`);
});
