/** The table of databases: filter, columns, sorting, and operations on several databases. */
import { examine, examineInAll } from '../appearance.ts';
import { expect, test } from '../fixtures.ts';
import { DatabasesPage } from '../pages/databases.ts';
import { createSmall } from '../rest.ts';

const GONE = { timeout: 60_000 };

test('databases are filtered, and several are stopped and deleted at once', async ({
  page,
  api,
}) => {
  for (const name of ['several-1', 'several-2']) await createSmall(api, name);
  const databases = new DatabasesPage(page);
  await databases.open();
  await expect(databases.row('demo')).toBeVisible();
  await page.getByLabel('Filter').fill('several');
  await expect(databases.row('demo')).toHaveCount(0);
  expect(new URL(page.url()).searchParams.get('q')).toBe('several');

  await page.getByRole('button', { name: 'Columns' }).click();
  await page.getByRole('checkbox', { name: 'Shards' }).uncheck();
  await page.keyboard.press('Escape');
  await expect(page.getByRole('columnheader', { name: 'Shards' })).toHaveCount(0);
  await page.reload();
  await expect(databases.row('several-1')).toBeVisible();
  await expect(page.getByRole('columnheader', { name: 'Shards' })).toHaveCount(0);
  await page.getByRole('button', { name: 'Throughput' }).click();
  await expect(page.getByRole('columnheader', { name: 'Throughput' })).toHaveAttribute(
    'aria-sort',
    'descending',
  );

  await page.getByLabel('Select all shown databases').check();
  await expect(page.getByText('2 selected')).toBeVisible();
  await page.getByRole('button', { name: 'Stop traffic…' }).click();
  const stop = page.getByRole('dialog', { name: 'Stop traffic: 2 databases' });
  await stop.getByRole('textbox').fill('2 databases');
  await stop.getByRole('button', { name: 'Stop traffic' }).click();
  await expect(stop.getByText('All requests submitted.')).toBeVisible();
  await examineInAll(page, 'databases-ordered');
  await stop.getByRole('button', { name: 'Done' }).click();
  await expect(databases.row('several-1')).toContainText('Traffic stopped');
  await expect(databases.row('several-2')).toContainText('Traffic stopped');
  await examine(page, 'databases-chosen');

  await page.getByRole('button', { name: 'Delete…' }).click();
  const remove = page.getByRole('dialog', { name: 'Delete: 2 databases' });
  await remove.getByRole('textbox').fill('2 databases');
  await remove.getByRole('button', { name: 'Delete' }).click();
  await remove.getByRole('button', { name: 'Done' }).click();
  await expect(page.getByText('No matches').or(databases.row('demo'))).toBeVisible(GONE);
});

test('on a phone, databases are cards with all values', { tag: '@slow' }, async ({ page, api }) => {
  await createSmall(api, 'on-card');
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto('/databases');
  const card = page.getByRole('list', { name: 'Databases' }).getByRole('listitem');
  const own = card.filter({ has: page.getByRole('link', { name: 'on-card' }) });
  await expect(own).toContainText('Throughput');
  await expect(own).toContainText('Endpoint');
  const [pageWidth, contentWidth] = await page
    .locator('#content')
    .evaluate((main) => [main.clientWidth, main.scrollWidth]);
  expect(contentWidth).toBe(pageWidth);
  await examine(page, 'databases-cards');
  await expect(page.getByRole('table', { name: 'Databases' })).toBeVisible();
});
