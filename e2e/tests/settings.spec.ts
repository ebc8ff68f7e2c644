/** The rules of the cluster, as an administrator changes them. */
import { execFileSync } from 'node:child_process';
import { expect, test } from '../fixtures.ts';

test('a rule is changed, kept, and set back', async ({ page, api }) => {
  const rule = page.getByRole('textbox', { name: 'Events of one type' });
  const kept = async () => (await (await api.get('/v1/cluster/policy')).json()) as object;
  await page.goto('/settings');
  await expect(rule).toHaveValue('5 000');
  await rule.fill('7000');
  await page.getByRole('button', { name: /Save 1\schange/ }).click();
  await expect.poll(kept).toMatchObject({ max_saved_events_per_type: 7000 });
  await page.reload();
  await expect(rule).toHaveValue('7 000');
  await page.getByRole('button', { name: 'Events of one type: back to the default' }).click();
  await page.getByRole('button', { name: /Save 1\schange/ }).click();
  await expect.poll(kept).toMatchObject({ max_saved_events_per_type: 5000 });
});

test('a support bundle has the logs of the console and of every node', async ({ page, api }) => {
  const [{ uid }] = (await (await api.get('/v1/nodes')).json()) as [{ uid: number }];
  await page.goto('/settings');
  const download = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download' }).click();
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
