/** Keyboard operation: shortcuts, tab order, and stored preferences. */
import type { Locator, Page } from '@playwright/test';
import { expect, SIGNED_OUT, test } from '../fixtures.ts';
import { CreatePage } from '../pages/create.ts';
import { DatabasesPage } from '../pages/databases.ts';
import { Frame } from '../pages/frame.ts';
import { LoginPage } from '../pages/login.ts';
import { stackInfo } from '../stack.ts';

async function tabThrough(page: Page, stops: Locator[]): Promise<void> {
  for (const stop of stops) {
    await page.keyboard.press('Tab');
    await expect(stop).toBeFocused();
  }
}

/** Press a two-key shortcut until it works. The second key must follow within a second, which a slow machine can miss. */
async function jump(page: Page, key: string, url: RegExp): Promise<void> {
  await expect(async () => {
    await page.keyboard.press('g');
    await page.keyboard.press(key);
    await expect(page).toHaveURL(url, { timeout: 5_000 });
  }).toPass();
}

test('shortcuts navigate, search, pause and show the help', async ({ page }) => {
  const frame = new Frame(page);
  await page.goto('/');
  await expect(frame.heading(/healthy/)).toBeVisible();
  await jump(page, 'd', /\/databases$/);
  await expect(frame.heading('Databases')).toBeVisible();
  await jump(page, 'n', /\/nodes$/);
  await jump(page, 'b', /\/benchmarks$/);
  await jump(page, 's', /\/settings$/);
  await jump(page, 'a', /\/activity\/timeline$/);
  await jump(page, 'e', /\/activity\/events$/);

  await expect(frame.live).toHaveText('Live');
  await page.keyboard.press('l');
  await expect(frame.live).toHaveText('Paused');
  await page.keyboard.press('l');
  await expect(frame.live).toHaveText('Live');

  await page.keyboard.press('?');
  const help = frame.dialog('Keyboard shortcuts');
  await expect(help).toContainText('Go to databases');
  await page.keyboard.press('Escape');
  await expect(help).toHaveCount(0);

  await page.keyboard.press('/');
  const search = page.getByRole('combobox', { name: /Search/ });
  await expect(search).toBeFocused();
  await search.pressSequentially('demo');
  const results = page.getByRole('listbox', { name: 'Results' }).getByRole('option');
  await expect(results.first()).toContainText('demo');
  await page.keyboard.press('Enter');
  await expect(frame.heading('demo')).toBeVisible();
});

test('shortcuts do not apply in text fields', async ({ page }) => {
  const form = new CreatePage(page);
  await form.open();
  await form.name.pressSequentially('gd-l');
  await expect(form.name).toHaveValue('gd-l');
  await expect(page).toHaveURL(/\/databases\/new$/);
});

test('a row opens by keyboard, and the tab order follows the form', async ({ page }) => {
  const databases = new DatabasesPage(page);
  await databases.open();
  await databases.row('demo').getByRole('link', { name: 'demo', exact: true }).focus();
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(/\/databases\/\d+\/metrics/);

  const form = new CreatePage(page);
  await form.open();
  await form.name.focus();
  await tabThrough(page, [
    form.port,
    page.getByRole('button', { name: 'Add tag' }),
    form.memory,
    form.memoryUnit,
    page.getByRole('radio', { name: 'RAM', exact: true }),
    page.getByLabel('Eviction policy'),
    form.replication,
  ]);
});

test('the first Tab focuses the skip link', async ({ page }) => {
  await page.goto('/databases');
  await expect(new DatabasesPage(page).row('demo')).toBeVisible();
  await tabThrough(page, [page.getByRole('link', { name: 'Skip to content' })]);
  await page.keyboard.press('Enter');
  await expect(page.getByRole('main')).toBeFocused();
});

test('the theme and the time zone are stored', async ({ page }) => {
  const frame = new Frame(page);
  const scheme = page.locator('html');
  await page.goto('/activity/events?span=all');
  await frame.chooseTheme('Dark');
  await expect(scheme).toHaveAttribute('data-mantine-color-scheme', 'dark');
  await page.reload();
  await expect(scheme).toHaveAttribute('data-mantine-color-scheme', 'dark');
  await frame.chooseTheme('Light');
  await expect(scheme).toHaveAttribute('data-mantine-color-scheme', 'light');

  const time = page.getByRole('table', { name: 'Events' }).getByRole('cell').first();
  const local = await time.textContent();
  expect(local).not.toContain('UTC');
  await frame.chooseZone('UTC');
  await expect(time).toContainText('UTC');
  await expect(time).not.toHaveText(`${local} UTC`);
  await page.reload();
  await expect(time).toContainText('UTC');
});

test.describe('signed out', () => {
  test.use({ storageState: SIGNED_OUT });

  test('signing in by keyboard opens the requested page', async ({ page }) => {
    const login = new LoginPage(page);
    const { user, password } = stackInfo();
    await page.goto('/nodes');
    await expect(login.user).toBeFocused();
    await page.keyboard.type(user);
    await page.keyboard.press('Tab');
    await expect(login.password).toBeFocused();
    await page.keyboard.type(password);
    await page.keyboard.press('Enter');
    await expect(page).toHaveURL(/\/nodes$/);
    await expect(new Frame(page).heading('Nodes')).toBeVisible();
  });
});
