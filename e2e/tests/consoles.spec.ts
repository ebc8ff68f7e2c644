/** Two consoles on one PostgreSQL database: a page continues on the other one when its own is lost. */
import { examineInAll } from '../appearance.ts';
import { expect, SIGNED_OUT, test } from '../fixtures.ts';
import { Frame } from '../pages/frame.ts';
import { LoginPage } from '../pages/login.ts';
import { stack } from '../stack.ts';

test.describe.configure({ timeout: 600_000 });
test.use({ storageState: SIGNED_OUT });

const PAGE = '/activity/events?range=60&severity=WARNING';

test('a page continues on another console with the same session', { tag: '@slow' }, async ({
  page,
}) => {
  const { url, second_url, user, password } = await stack.startPair();
  const frame = new Frame(page);
  await page.goto(`${url}/login`);
  const offered = page.waitForResponse(/\/v1\/session\/handover$/);
  await new LoginPage(page).signIn(user, password);
  await expect(frame.userMenu).toBeVisible();
  await offered;

  await test.step('the settings list both consoles', async () => {
    await page.goto(`${url}/settings`);
    const table = page.getByRole('table', { name: 'Consoles' });
    await expect(table.getByRole('row')).toHaveCount(3);
    await expect(table).toContainText('Leader for');
    await table.scrollIntoViewIfNeeded();
    await examineInAll(page, 'consoles');
  });

  await test.step('the page and its filters are kept', async () => {
    const renewed = page.waitForResponse(/\/v1\/session\/handover$/);
    await page.goto(url + PAGE);
    await expect(frame.heading('Activity')).toBeVisible();
    await renewed;
    const requests: string[] = [];
    page.on('request', (request) => requests.push(request.url()));
    await stack.killOfPair('console');
    await expect(frame.banners).toContainText(/does not answer\. Continuing on/);
    await page.waitForURL(second_url + PAGE);
    await expect(frame.heading('Activity')).toBeVisible();
    await expect(frame.banners).toContainText(/did not answer\. This page continues on/);
    await expect(frame.live).toBeVisible();
    expect(requests.filter((address) => address.includes('token'))).toEqual([]);
    await examineInAll(page, 'continued');
    await page.getByRole('button', { name: 'Dismiss' }).click();
    await expect(frame.banners).not.toContainText('not answer');
    await page.reload();
    await expect(frame.heading('Activity')).toBeVisible();
  });

  await test.step('a page with input asks first', async () => {
    await stack.restartPair();
    const policy = async () =>
      (await page.goto(`${second_url}/settings`))?.headers()['content-security-policy'];
    await expect.poll(policy, { message: 'the console knows the other one' }).toContain(url);
    const renewed = page.waitForResponse(/\/v1\/session\/handover$/);
    await page.reload();
    await renewed;
    await page.getByRole('button', { name: 'Add user', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('textbox').first().fill('ann@example.org');
    await stack.killOfPair('console-2');
    await expect(frame.banners).toContainText('the input in the form on this page will be lost');
    await expect(dialog.getByRole('textbox').first()).toHaveValue('ann@example.org');
    expect(new URL(page.url()).origin).toBe(second_url);
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: /^Continue on/ }).click();
    await page.waitForURL(`${url}/settings`);
    await expect(frame.heading('Settings')).toBeVisible();
  });

  await test.step('without another console, the page waits for its own', async () => {
    await stack.killOfPair('console');
    await expect(frame.banners).toContainText('Connection to the console lost');
    expect(page.url()).toBe(`${url}/settings`);
  });
});
