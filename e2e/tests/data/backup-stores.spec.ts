/** Backups in an object store in the web UI: failed tests of the location, its changes, downloads, growth, and lost lists of backups. */
import { execFileSync, spawn } from 'node:child_process';
import { createReadStream, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { APIRequestContext, Page } from '@playwright/test';
import { examineInAll } from '../../appearance.ts';
import { expect, test } from '../../fixtures.ts';
import { Frame } from '../../pages/frame.ts';
import { type Bdb, createSmall, flush, removeBackups } from '../../rest.ts';
import { stackInfo } from '../../stack.ts';

const NAME = 'kept';
const LOCATION = 'bucket';
const KEYS = 300;

interface ObjectStore {
  url: string;
  ca: string;
  bucket: string;
  key: [string, string];
}

/** Run an S3 server with a private CA, which checks credentials. */
async function objectStore(): Promise<{ store: ObjectStore; close: () => void }> {
  const root = fileURLToPath(new URL('../../..', import.meta.url));
  // The server ends when its standard input closes, which happens even if this process is killed.
  const child = spawn(`${root}.venv/bin/python`, ['e2e/object_store.py'], {
    cwd: root,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const line = await createInterface(child.stdout)[Symbol.asyncIterator]().next();
  if (!line.value) throw new Error('The object store did not start. Its last output is above.');
  return { store: JSON.parse(line.value) as ObjectStore, close: () => child.stdin.end() };
}

/** Run commands at the endpoint of a database and return the replies. */
function cli({ endpoints }: Bdb, input: string): string {
  const { addr, port } = endpoints[0] ?? { addr: [], port: 0 };
  return execFileSync('valkey-cli', ['-c', '-h', addr[0] ?? '', '-p', String(port)], {
    input,
    encoding: 'utf8',
  }).trim();
}

const fill = (bdb: Bdb, prefix: string) =>
  cli(
    bdb,
    Array.from({ length: KEYS }, (_, index) => `SET ${prefix}:${index} ${index}`).join('\n'),
  );

async function backUp(api: APIRequestContext, bdb: Bdb): Promise<number> {
  const reply = await api.post(`/v1/bdbs/${bdb.uid}/actions/backup`, { data: {} });
  expect(reply.status(), await reply.text()).toBe(200);
  const { backup_uid } = await reply.json();
  const status = async () => (await (await api.get(`/v1/backups/${backup_uid}`)).json()).status;
  await expect.poll(status).toBe('succeeded');
  return backup_uid;
}

async function addLocation(page: Page, { url, ca, bucket, key }: ObjectStore): Promise<void> {
  await page.goto('/databases/backups');
  await page.getByRole('button', { name: 'Add location' }).click();
  const dialog = new Frame(page).dialog('Add location');
  const check = async () => {
    await dialog.getByRole('button', { name: 'Test location' }).click();
    return dialog.getByRole('list', { name: 'Checks' });
  };
  await dialog.getByLabel('Type').selectOption('S3 and compatible');
  await dialog.getByLabel('Name').fill(LOCATION);
  await dialog.getByRole('textbox', { name: 'Bucket' }).fill(bucket);
  await dialog.getByLabel('Access key ID').fill(key[0]);
  await dialog.getByLabel('Secret access key').fill('wrong');
  await dialog.getByLabel('Endpoint').fill(url);
  await dialog.getByRole('switch', { name: 'Bucket in the path' }).click();
  await test.step('an untrusted certificate is explained', async () => {
    await expect(await check()).toContainText(/certificate/i);
    await examineInAll(page, 'location-untrusted');
  });
  await test.step('wrong credentials are explained', async () => {
    await dialog.getByText('More settings').click();
    await dialog.getByLabel('Trusted CAs').fill(ca);
    await expect(await check()).toContainText(/credentials|signature|secret/i);
    await examineInAll(page, 'location-wrong-credentials');
  });
  await test.step('a missing bucket is explained', async () => {
    await dialog.getByLabel('Secret access key').fill(key[1]);
    await dialog.getByRole('textbox', { name: 'Bucket' }).fill('missing');
    await expect(await check()).toContainText('bucket or container does not exist');
  });
  await dialog.getByRole('textbox', { name: 'Bucket' }).fill(bucket);
  await expect(await check()).toContainText('Delete the file');
  await dialog.getByRole('button', { name: 'Add location' }).click();
  await expect(page.getByRole('table', { name: 'Locations' })).toContainText(bucket);
}

test('backups in an object store are downloaded and found again', { tag: '@slow' }, async ({
  page,
  api,
}) => {
  test.setTimeout(400_000);
  const { store, close } = await objectStore();
  try {
    const frame = new Frame(page);
    const bdb = await createSmall(api, NAME);
    fill(bdb, 'user');
    await addLocation(page, store);

    await test.step('a changed location keeps its secret', async () => {
      await page.getByRole('button', { name: `Actions for ${LOCATION}` }).click();
      await page.getByRole('menuitem', { name: 'Edit' }).click();
      const dialog = frame.dialog(`Edit location ${LOCATION}`);
      await dialog.getByLabel('Folder').fill('production');
      await expect(dialog.getByLabel('Secret access key')).toHaveAttribute(
        'placeholder',
        'Unchanged',
      );
      await examineInAll(page, 'location-edit');
      await dialog.getByRole('button', { name: 'Save' }).click();
      await expect(page.getByRole('table', { name: 'Locations' })).toContainText('production');
      await page.getByRole('button', { name: `Actions for ${LOCATION}` }).click();
      await page.getByRole('menuitem', { name: 'Test' }).click();
      const checks = frame.dialog(`Test location ${LOCATION}`);
      await checks.getByRole('button', { name: 'Test location' }).click();
      await expect(checks.getByRole('list', { name: 'Checks' })).toContainText('Delete the file');
      await examineInAll(page, 'location-test');
      await page.keyboard.press('Escape');
    });

    await backUp(api, bdb);
    fill(bdb, 'order');
    const uid = await backUp(api, bdb);

    await test.step('the growth and the analysis are shown', async () => {
      await page.goto(`/databases/${bdb.uid}/backups?backup=${uid}`);
      const details = frame.dialog(`Backup ${uid} of ${NAME}`);
      const growth = details.getByRole('table', { name: 'Growth by prefix' });
      await expect(growth.getByRole('row').filter({ hasText: 'order:' })).toContainText(`+${KEYS}`);
      await examineInAll(page, 'backup-growth');
      const downloading = page.waitForEvent('download');
      await details.getByRole('button', { name: 'Download analysis' }).click();
      const analysis = JSON.parse(readFileSync(await (await downloading).path(), 'utf8'));
      expect(analysis.types.string.keys).toBe(2 * KEYS);
      await page.keyboard.press('Escape');
    });

    await test.step('the archive contains all files', async () => {
      await page.getByRole('button', { name: `Actions for backup ${uid} of ${NAME}` }).click();
      await page.getByRole('menuitem', { name: 'Download' }).click();
      await examineInAll(page, 'backup-download');
      const downloading = page.waitForEvent('download');
      await page.getByRole('button', { name: 'Download backup' }).click();
      const archive = await (await downloading).path();
      const names = execFileSync('tar', ['-tf', archive], { encoding: 'utf8' });
      expect(names).toMatch(/manifest\.json\n.*\/0-16383\.rdb\.zst\n$/);
    });

    await test.step('backups that are no longer listed are found', async () => {
      const removed = await api.delete(`/v1/backups/${uid}?keep_files=true`);
      expect(removed.status(), await removed.text()).toBe(200);
      await page.goto('/databases/backups');
      await page.getByRole('button', { name: `Actions for ${LOCATION}` }).click();
      await page.getByRole('menuitem', { name: 'Find backups' }).click();
      const dialog = frame.dialog(`Find backups in ${LOCATION}`);
      await dialog.getByRole('button', { name: 'Find backups' }).click();
      await expect(dialog.getByRole('status')).toContainText(/1.backup/);
      await examineInAll(page, 'backups-found');
      await page.keyboard.press('Escape');
    });
  } finally {
    await removeBackups(api);
    close();
  }
});

/** Serve a file at an URL. */
function serveFile(path: string): Promise<{ url: string; server: Server }> {
  const server = createServer((_, response) => createReadStream(path).pipe(response));
  return new Promise((resolve) =>
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo;
      resolve({ url: `http://127.0.0.1:${port}/dump.rdb`, server });
    }),
  );
}

/** Export a database and return the path of its file. */
async function exportFile(api: APIRequestContext, bdb: Bdb, folder: string): Promise<string> {
  const data = { export_location: { type: 'mount_point', path: folder } };
  const reply = await api.post(`/v1/bdbs/${bdb.uid}/actions/export`, { data });
  expect(reply.status(), await reply.text()).toBe(200);
  const { backup_uid } = await reply.json();
  const backup = async () => (await api.get(`/v1/backups/${backup_uid}`)).json();
  await expect.poll(async () => (await backup()).status).toBe('succeeded');
  return `${folder}/${(await backup()).path}/0-16383.rdb.gz`;
}

test('files are imported from this computer and from a web server', { tag: '@slow' }, async ({
  page,
  api,
}) => {
  const frame = new Frame(page);
  const bdb = await createSmall(api, NAME);
  const folder = `${stackInfo().backups}/uploads`;
  mkdirSync(folder, { recursive: true });
  fill(bdb, 'user');
  const file = await exportFile(api, bdb, folder);
  const location = { type: 'mount_point', path: folder };
  const added = await api.post('/v1/backup_locations', { data: { name: LOCATION, location } });
  expect(added.status(), await added.text()).toBe(200);
  const imports = page.getByRole('table', { name: 'Restores and imports' });
  const dialog = frame.dialog(`Import into ${NAME}`);
  const next = dialog.getByRole('button', { name: 'Next' });
  const open = async (source: string) => {
    await flush(api, bdb.uid);
    expect(cli(bdb, 'SET other 1')).toBe('OK');
    await page.getByRole('button', { name: 'Import…' }).click();
    await dialog.getByLabel('Source').selectOption(source);
  };
  const confirm = async () => {
    const name = dialog.getByLabel(`Type ${NAME} to confirm`);
    await expect(async () => {
      if (!(await name.isVisible())) await next.click({ timeout: 1_000 });
      await expect(name).toBeVisible({ timeout: 1_000 });
    }).toPass();
    await name.fill(NAME);
    await dialog.getByRole('button', { name: 'Erase and import' }).click();
  };
  await page.goto(`/databases/${bdb.uid}/backups`);

  await test.step('other files are rejected', async () => {
    await open('This computer');
    await examineInAll(page, 'import-upload');
    const input = dialog.locator('input[type=file]');
    await input.setInputFiles({
      name: 'notes.txt',
      mimeType: 'text/plain',
      buffer: Buffer.from('Shopping list'),
    });
    const uploads = dialog.getByRole('list', { name: 'Uploads' });
    await expect(uploads).toContainText('neither an RDB file nor compressed');
    await expect(next).toBeDisabled();
    await input.setInputFiles(file);
    await expect(uploads).toContainText('Uploaded');
    await examineInAll(page, 'import-uploaded');
    await uploads.getByRole('button', { name: 'Remove notes.txt' }).click();
    await expect(next).toBeEnabled();
  });

  await test.step('an uploaded file is imported', async () => {
    await confirm();
    const row = imports.getByRole('row').nth(1);
    await expect(row).toContainText(`${KEYS} keys restored`);
    expect(cli(bdb, 'DBSIZE')).toBe(String(KEYS));
    const uploads = async () => (await api.get(`/v1/bdbs/${bdb.uid}/uploads`)).json();
    await expect.poll(async () => (await uploads()).length).toBe(0);
    expect(readdirSync(folder)).not.toContain('.shardboard-uploads');
  });

  await test.step('a file of a web server is imported', async () => {
    const { url, server } = await serveFile(file);
    try {
      await open('URL');
      await dialog.getByLabel('Address').fill(url);
      await confirm();
      await expect(imports.getByRole('row').nth(1)).toContainText('127.0.0.1');
      await expect(imports.getByRole('row').nth(1)).toContainText(`${KEYS} keys restored`);
      expect(cli(bdb, 'DBSIZE')).toBe(String(KEYS));
    } finally {
      server.close();
    }
  });
});
