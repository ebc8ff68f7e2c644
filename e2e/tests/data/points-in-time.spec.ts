/** Restore points with recorded changes, and a restore to a time before keys were deleted. */
import { mkdirSync } from 'node:fs';
import type { APIRequestContext } from '@playwright/test';
import { examineInAll } from '../../appearance.ts';
import { expect, test } from '../../fixtures.ts';
import { Frame } from '../../pages/frame.ts';
import { createSmall, flush } from '../../rest.ts';
import { stackInfo } from '../../stack.ts';

const NAME = 'recorded';

/** Record the changes of a database, and return the folder of the location. */
async function recordChanges(api: APIRequestContext, uid: number): Promise<string> {
  const path = `${stackInfo().backups}/recorded`;
  mkdirSync(path, { recursive: true });
  const schedule = { cron: '0 0 1 1 *', record_changes: true, record_segment_seconds: 5 };
  const location = { type: 'mount_point', path };
  const data = { backup: true, backup_location: location, backup_schedule: schedule };
  const changed = await api.put(`/v1/bdbs/${uid}`, { data });
  expect(changed.status(), await changed.text()).toBe(200);
  return path;
}

test('a database is restored to a time', { tag: '@slow' }, async ({ page, api }) => {
  test.setTimeout(400_000);
  const frame = new Frame(page);
  const bdb = await createSmall(api, NAME);
  const path = await recordChanges(api, bdb.uid);
  const windows = async () => (await api.get(`/v1/bdbs/${bdb.uid}/restore_windows`)).json();
  await expect.poll(async () => (await windows()).length, { timeout: 120_000 }).toBe(1);

  await page.goto('/databases/backups');
  const points = page.getByRole('table', { name: 'Restore points' });
  const row = points.getByRole('row').filter({ hasText: NAME });
  await expect(row).toContainText(/\d{4}-\d\d-\d\d .* to \d{4}-\d\d-\d\d/);
  await examineInAll(page, 'restore-points');
  await row.getByRole('button', { name: 'Restore to a time…' }).click();
  const dialog = frame.dialog('Restore to a point in time');
  await expect(dialog.getByText(/^Any second from/)).toBeVisible();
  await dialog.getByLabel(`Type ${NAME} to confirm`).fill(NAME);
  await examineInAll(page, 'restore-to-time');
  await page.keyboard.press('Escape');

  await page.goto(`/databases/${bdb.uid}/backups`);
  const card = page.getByRole('region', { name: 'Points in time' });
  await expect(card.getByRole('table').getByRole('row')).toHaveCount(2);
  await examineInAll(page, 'points-in-time');
  await page.getByRole('button', { name: 'Edit schedule' }).click();
  await expect(frame.dialog(`Schedule backups of ${NAME}`)).toBeVisible();
  await examineInAll(page, 'schedule-recorded');
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Export…' }).click();
  await frame.dialog(`Export ${NAME}`).getByLabel('Path').fill(path);
  await examineInAll(page, 'export-of-recorded');
  await page.keyboard.press('Escape');

  await flush(api, bdb.uid);
  await card.getByRole('button', { name: 'Restore to a time…' }).click();
  await dialog.getByLabel(`Type ${NAME} to confirm`).fill(NAME);
  await dialog.getByRole('button', { name: 'Erase and restore' }).click();
  const restored = page.getByRole('table', { name: 'Restores and imports' }).getByRole('row');
  await expect(restored.nth(1)).toContainText('Succeeded');
  await api.put(`/v1/bdbs/${bdb.uid}`, { data: { backup: false } });
});
