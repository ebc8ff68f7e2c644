/** Backups in the web UI: storage locations, a backup, its restore, an import, and the deletion of backups. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { APIRequestContext, Page } from '@playwright/test';
import { examine, examineInAll } from '../../appearance.ts';
import { expect, test } from '../../fixtures.ts';
import { DatabasePage } from '../../pages/database.ts';
import { Frame } from '../../pages/frame.ts';
import { type Bdb, createSmall, flush } from '../../rest.ts';
import { stackInfo } from '../../stack.ts';

const NAME = 'kept';
const LOCATION = 'nas';
const KEYS = 500;

/** Run commands at the endpoint of a database and return the replies. */
function cli({ endpoints }: Bdb, input: string): string {
  const { addr, port } = endpoints[0] ?? { addr: [], port: 0 };
  return execFileSync('valkey-cli', ['-c', '-h', addr[0] ?? '', '-p', String(port)], {
    input,
    encoding: 'utf8',
  }).trim();
}

const fill = (bdb: Bdb) =>
  cli(bdb, Array.from({ length: KEYS }, (_, index) => `SET user:${index} ${index}`).join('\n'));

/** Create a folder that all nodes reach. */
function sharedFolder(): string {
  const path = `${stackInfo().backups}/${LOCATION}`;
  mkdirSync(path, { recursive: true });
  return path;
}

async function addLocation(page: Page, path: string): Promise<void> {
  await page.goto('/databases/backups');
  await expect(page.getByText('No locations yet')).toBeVisible();
  await page.getByRole('button', { name: 'Add location' }).click();
  const dialog = new Frame(page).dialog('Add location');
  await dialog.getByLabel('Type').selectOption('S3 and compatible');
  await dialog.getByLabel('Access key ID').fill('AKIA');
  await expect(dialog.getByText(/^Enter both the access key ID/)).toBeVisible();
  await examineInAll(page, 'backups-add-s3');
  await dialog.getByLabel('Type').selectOption('Mount point');
  await dialog.getByLabel('Name').fill(LOCATION);
  await dialog.getByLabel('Path').fill(`${path}/missing`);
  await dialog.getByRole('button', { name: 'Test location' }).click();
  await expect(dialog.getByText('No such file or directory')).toBeVisible();
  await dialog.getByLabel('Path').fill(path);
  await dialog.getByRole('button', { name: 'Test location' }).click();
  await expect(dialog.getByRole('list', { name: 'Checks' })).toContainText('Delete the file');
  await dialog.getByRole('switch', { name: 'Encrypt backups' }).click();
  await dialog.getByRole('button', { name: 'Create key' }).click();
  await expect(dialog.getByText(/^Save this private key outside the cluster/)).toBeVisible();
  await expect(dialog.getByLabel('Public keys')).toHaveValue(/^age1/);
  await examineInAll(page, 'backups-add-location');
  await dialog.getByRole('button', { name: 'Add location' }).click();
  await expect(page.getByRole('table', { name: 'Locations' })).toContainText(path);
}

async function backUp(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Back up now' }).click();
  const dialog = new Frame(page).dialog(`Back up ${NAME}`);
  await expect(dialog.getByLabel('Location')).toContainText(LOCATION);
  await dialog.getByRole('button', { name: 'Back up now' }).click();
  const row = page.getByRole('table', { name: 'Backups' }).getByRole('row').nth(1);
  await expect(row).toContainText('Succeeded');
  await expect(row).toContainText(String(KEYS));
}

test('a backup is restored after a flush @slow', async ({ page, api }) => {
  const frame = new Frame(page);
  const database = new DatabasePage(page);
  const bdb = await createSmall(api, NAME);
  fill(bdb);
  await addLocation(page, sharedFolder());

  await test.step('the database has a backup', async () => {
    await database.open(bdb.uid, 'backups');
    await expect(page.getByText('No backups yet')).toBeVisible();
    await examineInAll(page, 'backups-none');
    await backUp(page);
    const table = page.getByRole('table', { name: 'Backups' });
    await expect(table.getByRole('img', { name: 'Encrypted' })).toBeVisible();
  });

  await test.step('the keys are lost', async () => {
    await page.getByRole('button', { name: 'Database actions' }).click();
    await page.getByRole('menuitem', { name: 'Flush' }).click();
    const dialog = frame.dialog(`Flush ${NAME}?`);
    await dialog.getByRole('textbox').fill(NAME);
    await dialog.getByRole('button', { name: 'Flush database' }).click();
    await expect.poll(() => cli(bdb, 'DBSIZE')).toBe('0');
  });

  await test.step('the restore requires the name, and returns all keys', async () => {
    await page.getByRole('button', { name: 'Restore…' }).click();
    const dialog = frame.dialog('Restore a backup');
    const restore = dialog.getByRole('button', { name: 'Erase and restore' });
    await expect(restore).toBeDisabled();
    await dialog.getByLabel(`Type ${NAME} to confirm`).fill(NAME);
    await examine(page, 'backups-restore');
    await restore.click();
    const row = page.getByRole('table', { name: 'Restores and imports' }).getByRole('row').nth(1);
    await expect(row).toContainText(`${KEYS} keys restored`);
    await expect(row).toContainText('Succeeded');
    expect(cli(bdb, 'DBSIZE')).toBe(String(KEYS));
    expect(cli(bdb, 'GET user:7')).toBe('7');
    await examine(page, 'backups-of-database');
    await row.getByRole('button').click();
    await expect(frame.dialog(/^Restore \d+/)).toContainText('All keys match the backup');
    await examineInAll(page, 'backups-restored');
    await page.keyboard.press('Escape');
  });

  await test.step('all backups are listed with their location and files', async () => {
    await page.getByRole('navigation', { name: 'Main' }).getByText('Backups').click();
    const points = page.getByRole('table', { name: 'Restore points' });
    await expect(points.getByRole('row').filter({ hasText: 'demo' })).toContainText('No backup');
    await expect(points.getByRole('row').filter({ hasText: NAME })).toContainText('ago');
    await examineInAll(page, 'backups');
    const row = page.getByRole('table', { name: 'Backups' }).getByRole('row').nth(1);
    await row.getByRole('button', { name: 'ago' }).click();
    const details = frame.dialog(/^Backup \d+ of kept/);
    await expect(details.getByRole('table', { name: 'Files of the backup' })).toContainText(
      'Complete',
    );
    await examineInAll(page, 'backups-details');
    await page.keyboard.press('Escape');
  });

  await test.step('a location is deleted after its backups', async () => {
    const actions = page.getByRole('button', { name: `Actions for ${LOCATION}` });
    await actions.click();
    await expect(page.getByText(/It contains 1.backup. Delete it first/)).toBeVisible();
    await expect(page.getByRole('menuitem', { name: 'Delete' })).toBeDisabled();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: /^Actions for backup/ }).click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    const dialog = frame.dialog(`Delete backup of ${NAME}?`);
    await dialog.getByRole('textbox').fill(NAME);
    await dialog.getByRole('button', { name: 'Delete backup' }).click();
    await expect(page.getByText('No backups yet')).toBeVisible();
    await actions.click();
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await page.getByRole('button', { name: 'Delete location' }).click();
    await expect(page.getByText('No locations yet')).toBeVisible();
  });
});

interface Key {
  recipient: string;
  identity: string;
}

async function createKey(api: APIRequestContext): Promise<Key> {
  const created = await api.post('/v1/backup_locations/actions/create_key');
  expect(created.status(), await created.text()).toBe(200);
  return created.json();
}

/** Export the database of the page to a folder, and return the path of the export in it. */
async function exportDatabase(page: Page, folder: string, recipient = ''): Promise<string> {
  await page.getByRole('button', { name: 'Export…' }).click();
  const dialog = new Frame(page).dialog(`Export ${NAME}`);
  await dialog.getByLabel('Path').fill(folder);
  await dialog.getByLabel('Public keys').fill(recipient);
  await examineInAll(page, recipient ? 'export-encrypted' : 'export');
  const started = page.waitForResponse((response) => response.url().endsWith('/actions/export'));
  await dialog.getByRole('button', { name: 'Export database' }).click();
  const { backup_uid } = await (await started).json();
  const backup = async () => (await page.request.get(`/v1/backups/${backup_uid}`)).json();
  await expect.poll(async () => (await backup()).status).toBe('succeeded');
  return (await backup()).path;
}

test('files of another cluster are imported', { tag: '@slow' }, async ({ page, api }) => {
  test.setTimeout(400_000);
  const frame = new Frame(page);
  const bdb = await createSmall(api, NAME);
  fill(bdb);
  const path = sharedFolder();
  await page.goto(`/databases/${bdb.uid}/backups`);
  const key = await createKey(api);
  const other = await createKey(api);
  const plain = await exportDatabase(page, path);
  const encrypted = await exportDatabase(page, path, key.recipient);
  const file = `${plain}/0-16383.rdb.gz`;
  await flush(api, bdb.uid);
  expect(cli(bdb, 'SET other 1')).toBe('OK');

  await page.getByRole('button', { name: 'Import…' }).click();
  const dialog = frame.dialog(`Import into ${NAME}`);
  const next = dialog.getByRole('button', { name: 'Next' });
  await expect(next).toBeDisabled();
  await examineInAll(page, 'import-source');
  await dialog.getByLabel('Source').selectOption('Mount point');
  await dialog.getByLabel('Path').fill(path);
  await next.click();
  await dialog.getByLabel('Files').fill(file);
  await examineInAll(page, 'import-files');
  await next.click();
  await expect(dialog.getByText('Import possible')).toBeVisible();
  const files = dialog.getByRole('table', { name: 'Inspected files' });
  await expect(files).toContainText('Valkey RDB');
  await examineInAll(page, 'import-check');
  await next.click();
  await dialog.getByLabel(`Type ${NAME} to confirm`).fill(NAME);
  await examineInAll(page, 'import-confirm');
  await dialog.getByRole('button', { name: 'Erase and import' }).click();
  const row = page.getByRole('table', { name: 'Restores and imports' }).getByRole('row').nth(1);
  await expect(row).toContainText(`${KEYS} keys restored`);
  expect(cli(bdb, 'DBSIZE')).toBe(String(KEYS));
  await expect(page.getByRole('table', { name: 'Restores and imports' })).toContainText(
    'Import possible',
  );

  // A file that is not an RDB file is rejected before keys are deleted.
  writeFileSync(`${path}/notes.rdb`, 'no keys');
  await page.getByRole('button', { name: 'Import…' }).click();
  await dialog.getByLabel('Source').selectOption('Mount point');
  await dialog.getByLabel('Path').fill(path);
  await next.click();
  await dialog.getByLabel('Files').fill('notes.rdb');
  await next.click();
  await expect(dialog.getByText('Import not possible')).toBeVisible();
  await expect(next).toBeDisabled();
  await examineInAll(page, 'import-not-possible');

  await test.step('a wrong private key is reported at its field', async () => {
    await dialog.getByRole('button', { name: 'Back' }).click();
    await dialog.getByLabel('Files').fill(`${encrypted}/0-16383.rdb.gz.age`);
    const identities = dialog.getByLabel('Private key');
    await identities.fill('AGE-SECRET-KEY-1');
    await next.click();
    await expect(dialog.getByText(/is not an age private key/)).toBeVisible();
    await identities.fill(other.identity);
    await next.click();
    await expect(dialog.getByText(/cannot be decrypted with this private key/)).toBeVisible();
    await expect(identities).toHaveAttribute('aria-invalid', 'true');
    await examineInAll(page, 'import-wrong-key');
    await identities.fill(key.identity);
    await next.click();
    await expect(dialog.getByText('Import possible')).toBeVisible();
  });
  await page.keyboard.press('Escape');
});

test('backups are scheduled, and a backup is verified', { tag: '@slow' }, async ({ page, api }) => {
  test.setTimeout(400_000);
  const frame = new Frame(page);
  const bdb = await createSmall(api, NAME);
  fill(bdb);
  const location = { type: 'mount_point', path: sharedFolder() };
  const added = await api.post('/v1/backup_locations', { data: { name: LOCATION, location } });
  expect(added.status(), await added.text()).toBe(200);

  await page.goto(`/databases/${bdb.uid}/backups`);
  const schedule = page.getByRole('region', { name: 'Schedule' });
  await expect(schedule).toContainText('Off');
  await schedule.getByRole('button', { name: 'Edit schedule' }).click();
  const dialog = frame.dialog(`Schedule backups of ${NAME}`);
  const save = dialog.getByRole('button', { name: 'Save' });
  await dialog.getByRole('switch', { name: 'Back up on a schedule' }).click();
  await expect(save).toBeDisabled();
  await dialog.getByLabel('Location').selectOption(LOCATION);
  await dialog.getByLabel('Newest backups').fill('7');
  await examineInAll(page, 'backups-schedule');
  await dialog.getByText('Cron expression', { exact: true }).click();
  await dialog.getByRole('textbox', { name: 'Cron expression' }).fill('30 2 * * 1-5');
  await examineInAll(page, 'backups-schedule-cron');
  await save.click();
  await expect(schedule).toContainText('30 2 * * 1-5 (UTC)');
  await expect(schedule).toContainText('7 newest, and all manual ones');
  await expect(schedule).toContainText(/Next backup\d{4}-\d\d-\d\d/);

  await backUp(page);
  const row = page.getByRole('table', { name: 'Backups' }).getByRole('row').nth(1);
  await row.getByRole('button', { name: /^Actions for backup/ }).click();
  await page.getByRole('menuitem', { name: 'Verify' }).click();
  await page.getByRole('button', { name: 'Verify backup' }).click();
  await expect(row).toContainText(/Verified .* ago|Verified just now/);
  await examineInAll(page, 'backups-verified');

  await test.step('a scheduled backup is restored after a flush', async () => {
    const every = { cron: '* * * * *' };
    const changed = await api.put(`/v1/bdbs/${bdb.uid}`, { data: { backup_schedule: every } });
    expect(changed.status(), await changed.text()).toBe(200);
    const scheduled = page
      .getByRole('table', { name: 'Backups' })
      .getByRole('row')
      .filter({ hasText: 'Schedule' })
      .filter({ hasText: 'Succeeded' });
    await expect(scheduled.first()).toBeVisible({ timeout: 120_000 });
    const stopped = await api.put(`/v1/bdbs/${bdb.uid}`, { data: { backup: false } });
    expect(stopped.status(), await stopped.text()).toBe(200);
    await flush(api, bdb.uid);
    await scheduled
      .first()
      .getByRole('button', { name: /^Actions for backup/ })
      .click();
    await page.getByRole('menuitem', { name: 'Restore' }).click();
    const restore = frame.dialog('Restore a backup');
    await restore.getByLabel(`Type ${NAME} to confirm`).fill(NAME);
    await restore.getByRole('button', { name: 'Erase and restore' }).click();
    const restored = page
      .getByRole('table', { name: 'Restores and imports' })
      .getByRole('row')
      .nth(1);
    await expect(restored).toContainText(`${KEYS} keys restored`);
    await restored.getByRole('button').click();
    await expect(frame.dialog(/^Restore \d+/)).toContainText('All keys match the backup');
    await page.keyboard.press('Escape');
    expect(cli(bdb, 'GET user:7')).toBe('7');
  });
  const dropped = await api.put(`/v1/bdbs/${bdb.uid}`, {
    data: { backup: false, backup_location_uid: 0 },
  });
  expect(dropped.status(), await dropped.text()).toBe(200);
});

test('the console is backed up to a location', { tag: '@slow' }, async ({ page, api }) => {
  const frame = new Frame(page);
  const location = { type: 'mount_point', path: sharedFolder() };
  const added = await api.post('/v1/backup_locations', { data: { name: LOCATION, location } });
  expect(added.status(), await added.text()).toBe(200);

  await page.goto('/databases/backups');
  await expect(page.getByText('The console has no backup')).toBeVisible();
  await examineInAll(page, 'console-backups-none');
  await page.getByRole('button', { name: 'Edit schedule' }).click();
  const dialog = frame.dialog('Schedule backups of the console');
  await dialog.getByRole('switch', { name: 'Back up on a schedule' }).click();
  await dialog.getByLabel('Location').selectOption(LOCATION);
  await dialog.getByLabel('Cron expression').fill('0 0 31 2 *');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await expect(dialog.getByText(/^cron is invalid: day-of-month/)).toBeVisible();
  await dialog.getByLabel('Cron expression').fill('30 2 * * *');
  await examineInAll(page, 'console-backups-schedule');
  await dialog.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByText('30 2 * * * (UTC)')).toBeVisible();

  await page.getByRole('button', { name: 'Back up console' }).click();
  const start = frame.dialog('Back up the console');
  await expect(start.getByText(/^The store key encrypts the backup/)).toBeVisible();
  await start.getByRole('button', { name: 'Back up console' }).click();
  const row = page.getByRole('table', { name: 'Backups of the console' }).getByRole('row').nth(1);
  await expect(row).toContainText('Succeeded');
  await examineInAll(page, 'console-backups');
  const [backup] = await (await api.get('/v1/console_backups')).json();
  const content = readFileSync(`${location.path}/${backup.path}`);
  expect(content.subarray(0, 21).toString()).toBe('age-encryption.org/v1');
  expect(content.length).toBe(backup.bytes);

  const open = async (item: string) => {
    await row.getByRole('button', { name: /^Actions for backup/ }).click();
    await page.getByRole('menuitem', { name: item }).click();
  };
  await open('Verify');
  await page.getByRole('button', { name: 'Verify backup' }).click();
  await expect(row).toContainText(/Verified .* ago|Verified just now/);
  await expect(
    page.getByRole('table', { name: 'Locations' }).getByRole('row').filter({ hasText: LOCATION }),
  ).toContainText('the console');
  await examineInAll(page, 'console-backups-verified');
  await open('Download');
  const downloading = page.waitForEvent('download');
  await page.getByRole('button', { name: 'Download backup' }).click();
  expect(readFileSync(await (await downloading).path()).equals(content)).toBe(true);

  await open('Delete');
  await page.getByRole('button', { name: 'Delete backup' }).last().click();
  await expect(page.getByText('The console has no backup')).toBeVisible();
  expect(existsSync(`${location.path}/${backup.path}`)).toBe(false);
  expect((await api.delete('/v1/console_backups/schedule')).status()).toBe(200);
});
