/** User management: users, sessions, two-factor authentication, service tokens, roles and access lists. */
import { createHmac } from 'node:crypto';
import type { APIRequestContext } from '@playwright/test';
import { examine, examineInAll } from '../../appearance.ts';
import { expect, SIGNED_OUT, test } from '../../fixtures.ts';
import { Frame } from '../../pages/frame.ts';
import { LoginPage } from '../../pages/login.ts';
import { createSmall } from '../../rest.ts';

const EMAIL = 'ann@example.org';
const NEW_PASSWORD = 'correct horse battery';

interface Named {
  uid: number;
  name: string;
}

async function named(api: APIRequestContext, kind: string, name: string): Promise<Named> {
  const all: Named[] = await (await api.get(`/v1/${kind}`)).json();
  const found = all.find((each) => each.name === name);
  if (!found) throw new Error(`no ${name} in ${kind}`);
  return found;
}

test('a user is added, signs in, changes the password, and is removed', async ({
  page,
  browser,
  baseURL,
}) => {
  const frame = new Frame(page);
  await page.goto('/settings#users');
  await page.getByRole('button', { name: 'Add user' }).click();
  const adding = frame.dialog('Add user');
  await adding.getByLabel('Username').fill(EMAIL);
  await adding.getByLabel('Name', { exact: true }).fill('Ann');
  await adding.getByRole('button', { name: 'Generate' }).click();
  const password = await adding.getByRole('textbox', { name: 'Password' }).inputValue();
  await examineInAll(page, 'user-new');
  await adding.getByRole('button', { name: 'Add user' }).click();
  const row = page.getByRole('row', { name: EMAIL });
  await expect(row).toContainText('Database viewer');
  await expect(row).toContainText('Never');

  const theirs = await browser.newContext({ ...(baseURL && { baseURL }), storageState: undefined });
  const other = await theirs.newPage();
  const login = new LoginPage(other);
  await login.open();
  await login.signIn(EMAIL, password);
  const otherFrame = new Frame(other);
  await expect(otherFrame.heading(/are healthy/)).toBeVisible();
  await otherFrame.goTo('Settings');
  await expect(other.getByRole('link', { name: 'Retention' })).toBeVisible();
  await expect(other.getByRole('link', { name: 'Users and roles' })).toHaveCount(0);
  await otherFrame.goTo('Overview');
  await otherFrame.userMenu.click();
  await other.getByRole('menuitem', { name: 'Change password' }).click();
  const changing = otherFrame.dialog('Change your password');
  await changing.getByLabel('New password').fill(NEW_PASSWORD);
  await changing.getByLabel('Repeat password').fill(NEW_PASSWORD);
  await changing.getByRole('button', { name: 'Change password' }).click();
  await expect(changing).toBeHidden();
  await other.reload();
  await expect(otherFrame.heading(/are healthy/), 'still signed in').toBeVisible();

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

test('a user turns on two-factor authentication, and an administrator ends their sessions', {
  tag: '@slow',
}, async ({ page, api, browser, baseURL }) => {
  const user = { email: 'bob@example.org', password: NEW_PASSWORD, role: 'cluster_viewer' };
  const { uid } = await (await api.post('/v1/users', { data: user })).json();
  const theirs = await browser.newContext({ ...(baseURL && { baseURL }), storageState: undefined });
  const other = await theirs.newPage();
  const login = new LoginPage(other);
  const frame = new Frame(other);
  await login.open();
  await login.signIn(user.email, user.password);
  await frame.userMenu.click();
  await other.getByRole('menuitem', { name: 'Two-factor authentication' }).click();
  const dialog = frame.dialog('Turn on two-factor authentication');
  const secret = (await dialog.locator('code').textContent()) ?? '';
  await examine(other, 'second-factor-new');
  await dialog.getByLabel('Code').fill(codeOf(secret));
  await dialog.getByLabel('Your password').fill(user.password);
  await dialog.getByRole('button', { name: 'Turn on' }).click();
  const shown = frame.dialog('Two-factor authentication is on');
  const [recovery = ''] = ((await shown.locator('pre').textContent()) ?? '').split('\n');
  await examineInAll(other, 'second-factor-codes');
  await shown.getByRole('button', { name: 'Done' }).click();

  await frame.userMenu.click();
  await other.getByRole('menuitem', { name: 'Sign out' }).click();
  await login.signIn(user.email, user.password);
  const code = other.getByLabel('Code');
  await expect(code).toBeFocused();
  await examine(other, 'login-code');
  await code.fill(recovery);
  await login.submit.click();
  await expect(frame.heading(/are healthy/)).toBeVisible();

  const elsewhere = await api.get('/v1/bdbs', {
    headers: { Authorization: `Basic ${btoa(`${user.email}:${user.password}`)}` },
  });
  expect((await elsewhere.json()).error_code).toBe('second_factor_required');
  await page.goto('/settings#users');
  await page.getByRole('button', { name: `Actions for ${user.email}` }).click();
  await page.getByRole('menuitem', { name: 'Sessions' }).click();
  const sessions = new Frame(page).dialog(`Sessions of ${user.email}`);
  await expect(sessions.getByRole('row')).toHaveCount(2);
  await examine(page, 'sessions');
  await sessions.getByRole('button', { name: 'End all sessions' }).click();
  await expect(sessions).toContainText('Not signed in anywhere');
  await expect(login.submit, 'the page is signed out immediately').toBeVisible();
  await theirs.close();
  expect((await api.delete(`/v1/users/${uid}`)).status()).toBe(200);
});

/** Return the current code of an authenticator app (RFC 6238). */
function codeOf(secret: string): string {
  const bits = [...secret]
    .map((letter) =>
      'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0'),
    )
    .join('');
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
  const step = Buffer.alloc(8);
  step.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000)));
  const digest = createHmac('sha1', key).update(step).digest();
  const at = (digest.at(-1) ?? 0) & 15;
  return String((digest.readUInt32BE(at) & 0x7fffffff) % 1_000_000).padStart(6, '0');
}

test('if two-factor authentication is required, users set it up at sign-in', {
  tag: '@slow',
}, async ({ api, browser, baseURL, playwright }) => {
  const user = { email: 'cid@example.org', password: NEW_PASSWORD, role: 'cluster_viewer' };
  const { uid } = await (await api.post('/v1/users', { data: user })).json();
  const token = { name: 'policy', role: 'admin' };
  const made = await (await api.post('/v1/service_tokens', { data: token })).json();
  const program = await playwright.request.newContext({
    ...(baseURL && { baseURL }),
    ignoreHTTPSErrors: true,
    extraHTTPHeaders: { Authorization: `Bearer ${made.token}` },
  });
  const setRequired = async (required: boolean) => {
    const data = { second_factor_required: required };
    expect((await program.put('/v1/cluster/policy', { data })).status()).toBe(200);
  };
  const theirs = await browser.newContext({
    ...(baseURL && { baseURL }),
    storageState: SIGNED_OUT,
  });
  await setRequired(true);
  try {
    const other = await theirs.newPage();
    const login = new LoginPage(other);
    await login.open();
    await login.signIn(user.email, user.password);
    const secret = (await other.locator('code', { hasText: /^[A-Z2-7]{32}$/ }).textContent()) ?? '';
    await examineInAll(other, 'login-second-factor');
    await other.getByLabel('Code from the app').fill(codeOf(secret));
    await login.submit.click();
    await expect(
      other.getByRole('heading', { name: 'Two-factor authentication is on' }),
    ).toBeVisible();
    await examine(other, 'login-recovery-codes');
    await other.getByRole('button', { name: 'I have saved the codes' }).click();
    const frame = new Frame(other);
    await expect(frame.heading(/are healthy/)).toBeVisible();
    await frame.userMenu.click();
    await expect(
      other.getByRole('menuitem', { name: 'Turn off two-factor authentication' }),
    ).toHaveCount(0);
    await other.getByRole('menuitem', { name: 'Change authenticator app' }).click();
    await expect(frame.dialog('Change authenticator app').locator('code')).toBeVisible();
    await examine(other, 'second-factor-another');
  } finally {
    await setRequired(false);
    await program.dispose();
    await theirs.close();
  }
  expect((await api.delete(`/v1/users/${uid}`)).status()).toBe(200);
  expect((await api.delete(`/v1/service_tokens/${made.uid}`)).status()).toBe(200);
});

test('a program uses a service token until it is removed', async ({
  page,
  playwright,
  baseURL,
}) => {
  const frame = new Frame(page);
  await page.goto('/settings#users');
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

test('a role gets access to the data of a database with an access list', { tag: '@slow' }, async ({
  page,
  api,
}) => {
  const frame = new Frame(page);
  await page.goto('/settings#users');
  await page.getByRole('button', { name: 'Add access list' }).click();
  const rules = frame.dialog('Add access list');
  await rules.getByLabel('Name').fill('cache');
  await rules.getByLabel('Rules').fill('+@reed ~cache:*');
  await rules.getByRole('button', { name: 'Add access list' }).click();
  await expect(rules.getByText('Unknown command category')).toBeVisible();
  await examineInAll(page, 'users-rules-new');
  await rules.getByLabel('Rules').fill('+@read ~cache:*');
  await rules.getByRole('button', { name: 'Add access list' }).click();
  await expect(page.getByRole('table', { name: 'Access lists' })).toContainText('~cache:*');
  await page.getByRole('button', { name: 'Add role' }).click();
  const role = frame.dialog('Add role');
  await role.getByLabel('Name').fill('cache readers');
  await examineInAll(page, 'users-role-new');
  await role.getByRole('button', { name: 'Add role' }).click();
  await expect(page.getByRole('table', { name: 'Roles' })).toContainText('cache readers');
  await page.getByRole('button', { name: 'Add user' }).click();
  const user = frame.dialog('Add user');
  await user.getByLabel('Username').fill('shop');
  await user.getByRole('button', { name: 'Generate' }).click();
  await user.getByRole('radio', { name: 'cache readers' }).check();
  await user.getByRole('button', { name: 'Add user' }).click();
  await expect(page.getByRole('row').filter({ hasText: 'shop' })).toContainText('cache readers');
  await examine(page, 'users-roles-and-rules');

  await page.goto('/databases/1/configuration');
  await page.getByRole('button', { name: 'Change access…' }).click();
  const access = frame.dialog('Data access of demo');
  await access.getByRole('button', { name: 'Add role' }).click();
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

test('a user with a role for one database sees no other database', { tag: '@slow' }, async ({
  page,
  api,
  browser,
  baseURL,
}) => {
  const { uid } = await createSmall(api, 'payments');
  const frame = new Frame(page);
  await page.goto('/settings#users');
  await page.getByRole('button', { name: 'Add role' }).click();
  const adding = frame.dialog('Add role');
  await adding.getByLabel('Name').fill('payments team');
  await adding.getByLabel('Management role').selectOption({ label: 'Database member' });
  await adding.getByLabel('Applies to').selectOption({ label: 'Only these databases' });
  await adding.getByRole('combobox', { name: 'Databases' }).click();
  await page.getByRole('option', { name: 'payments' }).click();
  await examineInAll(page, 'users-role-limited');
  await adding.getByRole('button', { name: 'Add role' }).click();
  const row = page
    .getByRole('table', { name: 'Roles' })
    .getByRole('row', { name: 'payments team' });
  await expect(row).toContainText('payments');
  const role = await named(api, 'roles', 'payments team');
  const user = { email: 'pat@example.org', password: NEW_PASSWORD, role_uids: [role.uid] };
  expect((await api.post('/v1/users', { data: user })).status()).toBe(200);

  const theirs = await browser.newContext({ ...(baseURL && { baseURL }), storageState: undefined });
  const other = await theirs.newPage();
  const login = new LoginPage(other);
  await login.open();
  await login.signIn(user.email, user.password);
  await expect(new Frame(other).heading(/are healthy/)).toBeVisible();
  await examine(other, 'limited-overview');
  // Text that each page shows after its data was loaded.
  for (const [path, shown] of [
    ['/databases', 'payments'],
    [`/databases/${uid}`, 'payments'],
    ['/nodes', '127.'],
    ['/activity/timeline', 'Node 3'],
    ['/activity/events', 'payments'],
    ['/activity/alarms', 'No active alarms'],
    ['/benchmarks', 'No benchmark'],
    ['/settings', 'Node failures'],
  ] as const) {
    await other.goto(path);
    await expect(other.getByRole('main')).toContainText(shown);
    await expect(other.getByRole('main')).not.toContainText('demo');
    await expect(other.getByRole('alert').filter({ hasText: 'reaches' })).toHaveCount(0);
    if (path === '/settings') await examine(other, 'limited-settings');
  }
  await other.goto('/databases');
  await expect(other.getByRole('button', { name: 'Create database' })).toBeDisabled();
  await other.goto('/databases/1');
  await expect(other.getByRole('main')).toContainText('Database 1 does not exist');
  await theirs.close();
});

test('a program is signed in with a code, and signed out in the list of sessions', {
  tag: '@slow',
}, async ({ page, api }) => {
  const started = await (
    await api.post('/v1/device_logins', { data: { name: 'build-7', ttl: 86_400 } })
  ).json();
  const token = { data: { device_code: started.device_code } };
  await page.goto('/device');
  await page.getByLabel('Code').fill(started.user_code.toLowerCase());
  await page.getByRole('button', { name: 'Continue' }).click();
  await expect(page.getByText('build-7 (as the program states)')).toBeVisible();
  await examineInAll(page, 'device');
  expect((await (await api.post('/v1/device_logins/token', token)).json()).status).toBe('pending');
  await page.getByRole('button', { name: 'Confirm sign-in' }).click();
  await expect(page.getByText('The program on build-7 is signed in')).toBeVisible();
  expect((await (await api.post('/v1/device_logins/token', token)).json()).status).toBe('approved');

  const frame = new Frame(page);
  await frame.userMenu.click();
  await page.getByRole('menuitem', { name: 'Your sessions' }).click();
  const sessions = frame.dialog('Your sessions');
  await sessions.getByRole('button', { name: /Sign out .* on build-7/ }).click();
  await expect(sessions.getByText(/on build-7/)).toHaveCount(0);
});
