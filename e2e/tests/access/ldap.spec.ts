/** Sign-in with an OpenLDAP directory: configuration, accepted and rejected users. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { examine, examineInAll } from '../../appearance.ts';
import { expect, SIGNED_OUT, test } from '../../fixtures.ts';
import { Frame } from '../../pages/frame.ts';
import { LoginPage } from '../../pages/login.ts';

interface Directory {
  encrypted: string;
  ca: string;
  reader: [string, string];
  person: [string, string];
  people: string;
  groups: string;
  dba: string;
}

async function directory(): Promise<{ settings: Directory; close: () => void }> {
  const root = fileURLToPath(new URL('../../..', import.meta.url));
  // The directory ends when its standard input closes, which happens even if this process is killed.
  const child = spawn(`${root}.venv/bin/python`, ['e2e/directory.py'], {
    cwd: root,
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const line = await createInterface(child.stdout)[Symbol.asyncIterator]().next();
  if (!line.value) throw new Error('The directory did not start. Its last output is above.');
  return { settings: JSON.parse(line.value) as Directory, close: () => child.stdin.end() };
}

test('users sign in with LDAP, and their groups determine their roles', { tag: '@slow' }, async ({
  page,
  browser,
  baseURL,
}) => {
  const { settings, close } = await directory();
  try {
    const frame = new Frame(page);
    await page.goto('/settings');
    await page.getByRole('button', { name: 'Set up LDAP…' }).click();
    const dialog = frame.dialog('Set up LDAP');
    await dialog
      .getByRole('textbox', { name: 'Servers', exact: false })
      .first()
      .fill(settings.encrypted);
    await dialog.getByLabel('Search as').fill(settings.reader[0]);
    await dialog
      .getByRole('textbox', { name: 'Password of the search user' })
      .fill(settings.reader[1]);
    await dialog.getByLabel('Search base for users').fill(settings.people);
    await dialog.getByLabel('Search base for groups').fill(settings.groups);
    await dialog.getByRole('button', { name: 'Save' }).click();
    // The CA of the directory is not trusted by the machine.
    await expect(dialog.getByRole('alert')).toContainText('certificate');
    await examineInAll(page, 'ldap-dialog');
    await dialog.getByText('Timeouts and certificate').click();
    await dialog.getByRole('textbox', { name: 'CA of the server certificates' }).fill(settings.ca);
    await dialog.getByRole('button', { name: 'Save' }).click();
    await expect(dialog).toBeHidden();
    await expect(page.getByText('No group has a role yet')).toBeVisible();

    const theirs = await browser.newContext({ baseURL, storageState: SIGNED_OUT });
    const other = await theirs.newPage();
    const login = new LoginPage(other);
    await other.goto('/nodes');
    await login.signIn(...settings.person);
    await expect(login.error).toContainText('is not a member of any group with a role');

    await page.getByRole('button', { name: 'Add group…' }).click();
    const adding = frame.dialog('Add group');
    await adding.getByLabel('Name').fill('Administrators');
    await adding.getByLabel('DN').fill(settings.dba);
    await adding.getByLabel('Role').selectOption({ label: 'Admin' });
    await adding.getByRole('button', { name: 'Add', exact: true }).click();
    await expect(page.getByRole('row', { name: /Administrators/ })).toContainText('Admin');
    await examineInAll(page, 'ldap-settings');

    await login.signIn(settings.person[0], 'wrong');
    await expect(login.error).toContainText('Wrong username or password');
    await login.signIn(...settings.person);
    const otherFrame = new Frame(other);
    await expect(otherFrame.heading('Nodes')).toBeVisible();
    await otherFrame.userMenu.click();
    await expect(other.getByText(`${settings.person[0]} · admin`)).toBeVisible();
    await expect(other.getByRole('menuitem', { name: 'Change password…' })).toHaveCount(0);
    await theirs.close();

    await page.reload();
    await expect(page.getByRole('row', { name: /bob/ })).toContainText('LDAP');
    await examine(page, 'users-ldap');
  } finally {
    close();
  }
});
