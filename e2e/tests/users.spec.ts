/** Users as an administrator manages them, and what they may do then. */
import type { APIRequestContext } from '@playwright/test';
import { examine, examineInAll } from '../appearance.ts';
import { expect, test } from '../fixtures.ts';
import { Frame } from '../pages/frame.ts';
import { LoginPage } from '../pages/login.ts';

const EMAIL = 'ann@example.org';
const NEW_PASSWORD = 'correct horse battery';

interface Named {
  uid: number;
  name: string;
}

async function named(api: APIRequestContext, kind: string, name: string): Promise<Named> {
  const every: Named[] = await (await api.get(`/v1/${kind}`)).json();
  const found = every.find((each) => each.name === name);
  if (!found) throw new Error(`there is no ${name} among ${kind}`);
  return found;
}

test('a user is added, signs in, changes the password, and is removed', async ({
  page,
  browser,
  baseURL,
}) => {
  const frame = new Frame(page);
  await page.goto('/users');
  await page.getByRole('button', { name: 'Add user' }).click();
  const adding = frame.dialog('Add user');
  await adding.getByLabel('Signs in as').fill(EMAIL);
  await adding.getByLabel('Name').fill('Ann');
  await adding.getByRole('button', { name: 'Generate' }).click();
  const given = await adding.getByRole('textbox', { name: 'Password' }).inputValue();
  await examineInAll(page, 'user-new');
  await adding.getByRole('button', { name: 'Add user' }).click();
  const row = page.getByRole('row', { name: EMAIL });
  await expect(row).toContainText('Database viewer');
  await expect(row).toContainText('Never');

  const theirs = await browser.newContext({ ...(baseURL && { baseURL }), storageState: undefined });
  const other = await theirs.newPage();
  const login = new LoginPage(other);
  await login.open();
  await login.signIn(EMAIL, given);
  const otherFrame = new Frame(other);
  await expect(otherFrame.heading(/are well/)).toBeVisible();
  await expect(other.getByRole('link', { name: 'Users' })).toHaveCount(0);
  await otherFrame.userMenu.click();
  await other.getByRole('menuitem', { name: 'Change password' }).click();
  const changing = otherFrame.dialog('Change your password');
  await changing.getByLabel('New password').fill(NEW_PASSWORD);
  await changing.getByLabel('Once more').fill(NEW_PASSWORD);
  await changing.getByRole('button', { name: 'Change password' }).click();
  await expect(changing).toBeHidden();
  await other.reload();
  await expect(otherFrame.heading(/are well/), 'still signed in').toBeVisible();

  await page.reload();
  await expect(row).not.toContainText('Never');
  await examine(page, 'users');
  await page.getByRole('button', { name: `Actions for ${EMAIL}` }).click();
  await page.getByRole('menuitem', { name: 'Remove' }).click();
  const removing = frame.dialog(/Remove ann/);
  await removing.getByRole('textbox').fill(EMAIL);
  await removing.getByRole('button', { name: 'Remove user' }).click();
  await expect(row).toHaveCount(0);
  await other.reload();
  await expect(login.submit, 'signed out with its user').toBeVisible();
  await theirs.close();
});

test('a program logs in by a token of its own until that is removed', async ({
  page,
  playwright,
  baseURL,
}) => {
  const frame = new Frame(page);
  await page.goto('/users');
  await page.getByRole('button', { name: 'Add service token' }).click();
  const adding = frame.dialog('Add service token');
  await adding.getByLabel('Name').fill('ci');
  await adding.getByLabel(/^Cluster viewer/).check();
  await examineInAll(page, 'service-token-new');
  await adding.getByRole('button', { name: 'Add token' }).click();
  const shown = frame.dialog('Service token ci');
  const token = await shown.getByText(/^sbt_/).textContent();
  await examineInAll(page, 'service-token-shown');
  await shown.getByRole('button', { name: 'Done' }).click();
  const row = page.getByRole('row', { name: /ci Cluster viewer/ });
  await expect(row).toContainText('Never');

  const program = await playwright.request.newContext({
    ...(baseURL && { baseURL }),
    ignoreHTTPSErrors: true,
    storageState: { cookies: [], origins: [] },
    extraHTTPHeaders: { Authorization: `Bearer ${token}` },
  });
  expect((await program.get('/v1/bdbs')).status()).toBe(200);
  expect((await program.post('/v1/bdbs', { data: {} })).status()).toBe(403);
  await page.reload();
  await expect(row).not.toContainText('Never');
  await row.getByRole('button', { name: 'Remove service token ci' }).click();
  const removing = frame.dialog(/Remove service token ci/);
  await removing.getByRole('textbox').fill('ci');
  await removing.getByRole('button', { name: 'Remove token' }).click();
  await expect(row).toHaveCount(0);
  expect((await program.get('/v1/bdbs')).status()).toBe(401);
  await program.dispose();
});

test('a role is let in at data, with rules, from the page to the shards', async ({ page, api }) => {
  const frame = new Frame(page);
  await page.goto('/users');
  await page.getByRole('button', { name: 'Add rules' }).click();
  const rules = frame.dialog('Add rules');
  await rules.getByLabel('Name').fill('cache');
  await rules.getByLabel('Rules').fill('+@reed ~cache:*');
  await rules.getByRole('button', { name: 'Add rules' }).click();
  await expect(rules.getByText('There is no category')).toBeVisible();
  await examineInAll(page, 'users-rules-new');
  await rules.getByLabel('Rules').fill('+@read ~cache:*');
  await rules.getByRole('button', { name: 'Add rules' }).click();
  await expect(page.getByRole('table', { name: 'Rules for data' })).toContainText('~cache:*');
  await page.getByRole('button', { name: 'Add role' }).click();
  const role = frame.dialog('Add role');
  await role.getByLabel('Name').fill('cache readers');
  await examineInAll(page, 'users-role-new');
  await role.getByRole('button', { name: 'Add role' }).click();
  await expect(page.getByRole('table', { name: 'Roles' })).toContainText('cache readers');
  await page.getByRole('button', { name: 'Add user' }).click();
  const user = frame.dialog('Add user');
  await user.getByLabel('Signs in as').fill('shop');
  await user.getByRole('button', { name: 'Generate' }).click();
  await user.getByRole('radio', { name: 'cache readers' }).check();
  await user.getByRole('button', { name: 'Add user' }).click();
  await expect(page.getByRole('row').filter({ hasText: 'shop' })).toContainText('cache readers');
  await examine(page, 'users-roles-and-rules');

  await page.goto('/databases/1/configuration');
  await page.getByRole('button', { name: 'Change access…' }).click();
  const access = frame.dialog('Who may use the data of demo');
  await access.getByRole('button', { name: 'Let a role in' }).click();
  await access.getByLabel('Rules').selectOption({ label: 'cache' });
  const cacheReaders = await named(api, 'roles', 'cache readers');
  const cache = await named(api, 'redis_acls', 'cache');
  await expect(access.getByRole('combobox', { name: 'Role' })).toHaveValue(`${cacheReaders.uid}`);
  await examine(page, 'database-access');
  await access.getByRole('button', { name: 'Save' }).click();
  await expect(access).toBeHidden();
  const bdb = async () => (await api.get('/v1/bdbs/1')).json();
  await expect.poll(async () => (await bdb()).status).toBe('active');
  expect((await bdb()).roles_permissions).toEqual([
    { role_uid: cacheReaders.uid, redis_acl_uid: cache.uid },
  ]);
  expect((await api.delete(`/v1/redis_acls/${cache.uid}`)).status()).toBe(409);
});
