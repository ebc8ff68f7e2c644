/** A database on flash, from the form to the RAM hit ratio. */
import { examine, examineInAll } from '../appearance.ts';
import { expect, test } from '../fixtures.ts';
import { CreatePage } from '../pages/create.ts';
import { DatabasePage } from '../pages/database.ts';
import { bdbNamed, shardsOf } from '../rest.ts';
import { stack } from '../stack.ts';

interface FlashStats {
  intervals: { bigstore_objs_flash?: number }[];
}

test('a database on flash is created, filled beyond its RAM, and shows its hit ratio', {
  tag: '@slow',
}, async ({ page, api }) => {
  const form = new CreatePage(page);
  await form.open();
  await form.name.fill('mostly-cold');
  await form.clusterApi.click();
  await form.shards.fill('2');
  await form.memory.fill('200');
  await form.memoryUnit.selectOption('MiB');
  await page.getByRole('radiogroup', { name: 'Runs on' }).getByText('Flash').click();
  await expect(page.getByText('20 MiB of RAM, 180 MiB of flash')).toBeVisible();
  await page.getByRole('slider', { name: 'RAM limit in percent' }).focus();
  for (let step = 0; step < 10; step += 1) await page.keyboard.press('ArrowRight');
  await expect(page.getByText('40 MiB of RAM, 160 MiB of flash')).toBeVisible();
  await form.submit.click();

  const database = new DatabasePage(page);
  await expect(database.state).toHaveText('Active');
  const { uid } = await bdbNamed(api, 'mostly-cold');
  await stack.startTraffic(uid, 1_500, 'flash');
  await database.open(uid, 'metrics');
  // Charts that are not visible are not drawn.
  await database.chart('Flash read latency').scrollIntoViewIfNeeded();
  // About 90 MB of values do not fit into 40 MiB of RAM, so some requests read from flash.
  await expect(database.figure('Values', 'On flash', 'last')).toHaveText(/\d\sk/, {
    timeout: 90_000,
  });
  await expect(database.figure('Flash read latency', 'P99', 'last')).toHaveText(/^[\d.]+$/);
  await database.chart('RAM hit ratio').scrollIntoViewIfNeeded();
  await expect(database.figure('RAM hit ratio', 'All', 'last')).toHaveText(/^\d\d(\.\d+)?%$/);
  await expect
    .poll(async () => {
      const reply = await api.get(`/v1/bdbs/stats/${uid}?interval=1sec`);
      const { intervals } = (await reply.json()) as FlashStats;
      return intervals.at(-1)?.bigstore_objs_flash ?? 0;
    })
    .toBeGreaterThan(1000);
  await expect(page.getByText('memory is full')).toHaveCount(0);
  const choices = page.getByRole('table', { name: 'Expected RAM hit ratio' });
  await expect(choices.getByRole('row').filter({ hasText: '200 MiB' })).toContainText('100%');
  await expect(choices.getByRole('row').filter({ hasText: 'now' })).toContainText('40 MiB');
  await examine(page, 'metrics-flash');

  await database.open(uid, 'shards');
  await page.getByLabel('Color by').selectOption({ label: 'RAM hit ratio' });
  const [shard] = await shardsOf(api, uid);
  const cell = page.getByRole('button', { name: new RegExp(`^redis:${shard?.uid}\\b`) }).first();
  await expect(cell).toContainText(/\d%/);
  await examine(page, 'shards-flash');
  await cell.click();
  const panel = page.getByRole('dialog');
  await expect(panel).toContainText(/RAM hit ratio\s*\d/);
  await panel.getByText('Slow log').click();
  await expect(panel.getByText(/longer than 10\sms/)).toBeVisible();
  await panel.getByText('Clients', { exact: true }).click();
  await expect(panel.getByText('Console or agent').first()).toBeVisible();
  await panel.getByText('Engine INFO').click();
  await panel.getByLabel('Filter INFO').fill('values_flash');
  await expect(panel.getByText('tier_values_flash')).toBeVisible();
  await examineInAll(page, 'shard-inside');
  await page.keyboard.press('Escape');

  await page.goto('/databases');
  const row = page.getByRole('row').filter({ hasText: 'mostly-cold' });
  await expect(row.getByText(/^\d\d(\.\d+)?%$/)).toBeVisible();
  await examine(page, 'databases-flash');
});
