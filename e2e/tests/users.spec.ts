/** Users as an administrator manages them, and what they may do then. */
import { examine, examineInAll } from '../appearance.ts';
import { expect, test } from '../fixtures.ts';
import { Frame } from '../pages/frame.ts';
import { LoginPage } from '../pages/login.ts';

const EMAIL = 'ann@example.org';
const NEW_PASSWORD = 'correct horse battery';

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
