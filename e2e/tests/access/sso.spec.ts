/** Single sign-on with a certified OpenID Connect provider, from the configuration to the sign-in. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Page } from '@playwright/test';
import { examine, examineInAll } from '../../appearance.ts';
import { expect, SIGNED_OUT, test } from '../../fixtures.ts';
import { Frame } from '../../pages/frame.ts';
import { LoginPage } from '../../pages/login.ts';

const CLIENT = { client_id: 'shardboard', client_secret: 's%c:ret' };

/** Start a provider that accepts any password. `boss` is in the group dba, `nobody` is in no group. */
async function provider(consoleUrl: string) {
  // Loaded here, because it prints warnings that should not appear in the output of other tests.
  const { default: Provider } = await import('oidc-provider');
  const groups = (id: string) =>
    id === 'boss' ? ['dba', 'staff'] : id === 'nobody' ? [] : ['staff'];
  const made = (issuer: string) =>
    new Provider(issuer, {
      clients: [{ ...CLIENT, redirect_uris: [`${consoleUrl}/v1/session/sso/callback`] }],
      claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name', 'groups'] },
      pkce: { required: () => true },
      cookies: { keys: ['for the test'] },
      findAccount: (_, id) => ({
        accountId: id,
        claims: async () => ({
          sub: id,
          email: `${id}@example.org`,
          email_verified: true,
          name: id,
          groups: groups(id),
        }),
      }),
    });
  // The issuer contains the port, which is known only when the server listens.
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  server.on('request', made(issuer).callback());
  return { issuer, close: () => server.close() };
}

async function signInThere(page: Page, user: string): Promise<void> {
  await page.getByPlaceholder(/login/i).fill(user);
  await page.getByPlaceholder(/password/i).fill('anything');
  await page.getByRole('button', { name: /sign-in/i }).click();
  await page.getByRole('button', { name: /continue/i }).click();
}

test('users sign in with single sign-on, and their groups determine their roles', {
  tag: '@slow',
}, async ({ page, browser, baseURL }) => {
  const there = await provider(baseURL ?? '');
  try {
    const frame = new Frame(page);
    await page.goto('/settings');
    await page.getByRole('button', { name: 'Set up single sign-on…' }).click();
    const dialog = frame.dialog('Set up single sign-on');
    await expect(dialog.getByLabel('Redirect URI')).toHaveValue(
      `${baseURL}/v1/session/sso/callback`,
    );
    await dialog.getByLabel('Issuer').fill(`${there.issuer}/x`);
    await dialog.getByLabel('Client ID').fill(CLIENT.client_id);
    await dialog.getByRole('textbox', { name: 'Client secret' }).fill(CLIENT.client_secret);
    await dialog.getByLabel('Name', { exact: false }).first().fill('Example');
    await dialog.getByRole('button', { name: 'Add group' }).click();
    await dialog.getByLabel('Group', { exact: true }).fill('dba');
    await dialog.getByLabel('Role of dba').selectOption({ label: 'Admin' });
    await dialog.getByRole('button', { name: 'Add group' }).click();
    await dialog.getByLabel('Group', { exact: true }).nth(1).fill('staff');
    await dialog.getByLabel('Role of staff').selectOption({ label: 'DB Viewer' });
    await dialog.getByRole('button', { name: 'Save' }).click();
    await expect(dialog.getByRole('alert')).toContainText('404');
    await examineInAll(page, 'sso-provider');
    await dialog.getByLabel('Issuer').fill(there.issuer);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await expect(dialog).toBeHidden();
    await expect(page.getByText('dba: Admin; staff: DB Viewer; others: rejected')).toBeVisible();
    await examine(page, 'sso-settings');

    const theirs = await browser.newContext({ baseURL, storageState: SIGNED_OUT });
    const other = await theirs.newPage();
    await other.goto('/nodes');
    await examineInAll(other, 'login-sso');
    await other.getByRole('link', { name: 'Sign in with Example' }).click();
    await signInThere(other, 'boss');
    const otherFrame = new Frame(other);
    await expect(otherFrame.heading('Nodes')).toBeVisible();
    await otherFrame.userMenu.click();
    await expect(other.getByText('boss@example.org · admin')).toBeVisible();
    await expect(other.getByRole('menuitem', { name: 'Change password…' })).toHaveCount(0);
    await theirs.close();

    const nobodys = await browser.newContext({ baseURL, storageState: SIGNED_OUT });
    const third = await nobodys.newPage();
    await new LoginPage(third).open();
    await third.getByRole('link', { name: 'Sign in with Example' }).click();
    await signInThere(third, 'nobody');
    await expect(third.getByText('None of your groups has a role in this console')).toBeVisible();
    await examine(third, 'login-sso-refused');
    await nobodys.close();

    await page.reload();
    await expect(page.getByRole('row', { name: /boss@example.org/ })).toContainText(
      'Single sign-on',
    );
    await page.getByRole('button', { name: 'Add user' }).click();
    await frame.dialog('Add user').getByLabel('Sign-in method').selectOption({ label: 'Example' });
    await examine(page, 'user-new-sso');
  } finally {
    there.close();
  }
});
