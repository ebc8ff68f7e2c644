/** Sections of the web UI, addresses of earlier releases, the groups of the settings, phones, and printing. */
import { readFile } from 'node:fs/promises';
import type { Page } from '@playwright/test';
import { examine } from '../appearance.ts';
import { expect, SIGNED_OUT, test } from '../fixtures.ts';
import { Frame } from '../pages/frame.ts';
import { LoginPage } from '../pages/login.ts';
import { stackInfo } from '../stack.ts';

const PHONE = { width: 390, height: 844 };

test('old addresses lead to the new pages and keep their parameters', { tag: '@slow' }, async ({
  page,
}) => {
  for (const [old, address] of [
    ['/timeline?range=900', '/activity/timeline?range=900'],
    ['/timeline/incident/7', '/activity/incidents/7'],
    ['/alarms', '/activity/alarms'],
    ['/events?severity=ERROR', '/activity/events?severity=ERROR'],
    ['/audit', '/activity/audit'],
    ['/backups', '/databases/backups'],
    ['/availability', '/databases/availability'],
    ['/users', '/settings#users'],
    ['/notifications', '/settings#notifications'],
    ['/activity', '/activity/timeline'],
  ] as const) {
    await page.goto(old);
    await expect(page).toHaveURL(address);
  }
});

test('the time range and Live are only on pages with a time axis', { tag: '@slow' }, async ({
  page,
}) => {
  const frame = new Frame(page);
  const range = page.getByRole('button', { name: /^Time range/ });
  for (const path of ['/', '/databases', '/nodes/1', '/activity/timeline', '/activity/events']) {
    await page.goto(path);
    await expect(range, path).toBeVisible();
    await expect(frame.live, path).toBeVisible();
  }
  for (const path of [
    '/nodes',
    '/databases/1/configuration',
    '/databases/1/shards',
    '/activity/actions',
    '/activity/events?span=all',
    '/benchmarks',
    '/settings',
  ]) {
    await page.goto(path);
    await expect(frame.main.getByRole('heading').first()).toBeVisible();
    await expect(range, path).toHaveCount(0);
    await expect(frame.live, path).toHaveCount(0);
  }
});

test('events follow the time range, and wait while the page is paused', { tag: '@slow' }, async ({
  page,
  api,
}) => {
  const frame = new Frame(page);
  const change = async (days: number) =>
    expect(
      (await api.put('/v1/cluster/policy', { data: { events_keep_days: days } })).status(),
    ).toBe(200);
  await page.goto('/activity/events?text=events_keep_days');
  const rows = page.getByRole('table', { name: 'Events' }).locator('tbody').getByRole('row');
  await change(91);
  await expect(rows.first()).toContainText('91');
  const count = await rows.count();
  await frame.live.click();
  await change(90);
  // The console has sent the event when the list of all events contains it.
  const other = await page.context().newPage();
  await other.goto('/activity/events?span=all&text=events_keep_days');
  await expect(other.getByRole('table', { name: 'Events' }).getByRole('row').nth(1)).toContainText(
    '90',
  );
  await expect(rows).toHaveCount(count);
  await frame.live.click();
  await expect(rows).toHaveCount(count + 1);
  await other.close();
});

test('a group of the settings can be linked, and settings are found by text', {
  tag: '@slow',
}, async ({ page }) => {
  const groups = page.getByRole('navigation', { name: 'Groups of settings' });
  const current = groups.locator('[aria-current="location"]');
  await page.goto('/settings#retention');
  await expect(page.getByRole('heading', { level: 2, name: 'Retention' })).toBeInViewport();
  await expect(current).toHaveText('Retention');
  await groups.getByRole('link', { name: 'Users and roles' }).click();
  await expect(page.getByRole('heading', { level: 2, name: 'Users and roles' })).toBeInViewport();
  await expect(current).toHaveText('Users and roles');
  await page.getByRole('searchbox', { name: 'Search settings' }).fill('audit');
  await expect(page.getByRole('main').getByText('Audit records', { exact: true })).toBeVisible();
  await expect(page.getByLabel('Allow drills')).toHaveCount(0);
  await examine(page, 'settings-search');
  await page.getByRole('searchbox', { name: 'Search settings' }).fill('zebra');
  await expect(page.getByText('No matching settings')).toBeVisible();
  await page.getByRole('button', { name: 'Show all settings' }).click();
  await expect(page.getByLabel('Allow drills')).toBeAttached();
});

test('actions are listed with their result', { tag: '@slow' }, async ({ page }) => {
  await page.goto('/activity/actions');
  const row = page.getByRole('row').filter({ hasText: 'demo' }).last();
  await expect(row).toContainText('Completed');
  await expect(row).toContainText(stackInfo().user);
  await row.getByRole('link').click();
  await expect(page).toHaveURL(/\/activity\/timeline\?.*event=action/);
  await expect(page.getByRole('complementary', { name: 'Action' })).toContainText('completed');
});

/** Return the elements of the content that are wider than the window. */
const wideElements = (page: Page) =>
  page.locator('#content *').evaluateAll((all) =>
    all
      .filter((each) => each.getBoundingClientRect().right > window.innerWidth + 1)
      .filter((each) => !each.closest('svg, canvas, .uplot, thead'))
      .map((each) => `${each.tagName} ${each.className} ${each.textContent?.slice(0, 30)}`),
  );

test('phones have the sections at the bottom, and no value is cut off', { tag: '@slow' }, async ({
  page,
}) => {
  await page.setViewportSize(PHONE);
  const sections = page.getByRole('navigation', { name: 'Main' });
  for (const path of ['/nodes', '/activity/actions', '/activity/events?span=all', '/settings']) {
    await page.goto(path);
    await expect(sections.getByRole('link')).toHaveCount(6);
    for (const link of await sections.getByRole('link').all()) await expect(link).toBeInViewport();
    await expect(sections.getByText('Benchmarks')).toBeVisible();
    await expect(page.getByRole('main').getByRole('heading').first()).toBeVisible();
    if (path !== '/settings')
      await expect(page.getByRole('main').getByRole('cell').first()).toBeVisible();
    expect(await wideElements(page), path).toEqual([]);
  }
});

test('a printed page contains all charts', { tag: '@slow' }, async ({ page }) => {
  await page.goto('/databases/1/metrics');
  await expect(page.locator('[data-column="last"]').first()).not.toHaveText('–');
  const path = test.info().outputPath('page.pdf');
  await page.pdf({ path, format: 'A4' });
  const pages = (await readFile(path, 'latin1')).match(/\/Type\s*\/Page\b/g)?.length ?? 0;
  expect(pages).toBeGreaterThan(1);
  await page.emulateMedia({ media: 'print' });
  await expect(page.getByRole('navigation', { name: 'Main' })).toBeHidden();
  const widths = await page.locator('.uplot canvas').evaluateAll((all) =>
    all.map((each) => {
      const limit = each.closest('section')?.getBoundingClientRect().right ?? 0;
      return limit - each.getBoundingClientRect().right;
    }),
  );
  expect(Math.min(...widths)).toBeGreaterThanOrEqual(0);
});

test.describe('signed out', () => {
  test.use({ storageState: SIGNED_OUT });

  test('the sign-in page only checks for a session', { tag: '@slow' }, async ({ page }) => {
    const sent: string[] = [];
    page.on('request', (request) => {
      const { pathname } = new URL(request.url());
      if (/^\/v\d\//.test(pathname)) sent.push(pathname);
    });
    const login = new LoginPage(page);
    await page.goto('/nodes');
    await expect(login.submit).toBeVisible();
    await page.waitForLoadState('networkidle');
    expect(sent.toSorted()).toEqual(['/v1/session', '/v1/session/sso']);
    await expect(page.getByText('SHARDBOARD_ADMIN_USER')).toBeHidden();
    await page.getByText('Help with signing in').click();
    await expect(page.getByText('SHARDBOARD_ADMIN_USER')).toBeVisible();
  });
});
