/** Overview: charts on the first screen in every state, slim strips, the redundancy, and the tour in the side panel. */
import type { Page } from '@playwright/test';
import { examine } from '../appearance.ts';
import { expect, signIn, test } from '../fixtures.ts';
import { DrillDialog } from '../pages/drill.ts';
import { Frame } from '../pages/frame.ts';
import { allowDrills } from '../rest.ts';
import { stack } from '../stack.ts';

const NODE = 2;
const DOWN_SECONDS = 40;
const WELL = { timeout: 120_000 };
/** Charts start within this distance from the top of a screen of 1440 × 900. */
const FIRST_SCREEN_PX = 400;

test.describe.configure({ timeout: 300_000 });
// Recording all changes of these live pages would take longer than the test.
test.use({ trace: 'off' });

test.beforeAll(async () => allowDrills(true));
test.afterAll(async () => allowDrills(false));

/** Check the layout at 1440 × 900, and take screenshots. */
async function expectCalm(page: Page, name: string): Promise<void> {
  await examine(page, name);
  await page.setViewportSize({ width: 1440, height: 900 });
  const chart = page.getByRole('region', { name: 'Throughput of all databases' });
  expect((await chart.boundingBox())?.y, `${name}: top of the chart`).toBeLessThan(FIRST_SCREEN_PX);
  if (!process.env.ALL) return;
  await page.setViewportSize({ width: 2560, height: 1440 });
  await page.screenshot({ path: `screenshots/${name}-light-2560.png` });
  await page.setViewportSize({ width: 1440, height: 900 });
}

test('the overview shows charts on the first screen during an outage', { tag: '@slow' }, async ({
  page,
}) => {
  const frame = new Frame(page);
  await page.goto('/');
  await expect(frame.heading(/All 3 nodes and 12 shards are healthy/)).toBeVisible(WELL);
  await expect(page.getByRole('link', { name: /If any one node is lost/ })).toBeVisible();
  await expectCalm(page, 'overview-healthy');

  const tour = page.getByRole('region', { name: 'Guided tour' });
  await tour.getByRole('button', { name: 'Start tour' }).click();
  await new DrillDialog(page, NODE).start('Reboot the node', { seconds: DOWN_SECONDS });
  await frame.goTo('Overview');
  await expect(frame.heading(new RegExp(`Node ${NODE} has been down`))).toBeVisible(WELL);
  await expectCalm(page, 'overview-node-down');

  await expect(tour.getByRole('link', { name: 'Open report' })).toBeVisible(WELL);
  for (const step of await tour.getByRole('listitem').all())
    await expect(step).toHaveAttribute('data-state', 'done');
  // A step that missed its promise has no check mark and states the reason.
  for (const missed of await tour.locator('[data-missed]').all()) {
    await expect(missed.getByLabel('not as expected')).toBeVisible();
    await expect(missed).toContainText(/CPU|had no primaries/);
  }
  const strip = page.getByText(/can be switched back to node 2/);
  await expect(strip.first()).toBeVisible(WELL);
  await expectCalm(page, 'overview-switch-back');

  await tour.getByRole('button', { name: 'Done' }).click();
  const offer = page.getByRole('button', { name: 'Switch back…' });
  await offer.first().click();
  await page.getByRole('dialog').getByRole('button', { name: 'Switch back' }).click();
  await expect(offer).toHaveCount(0, WELL);
});

test('the overview keeps its figures while the console is unreachable', {
  tag: '@slow',
}, async ({ page }) => {
  const frame = new Frame(page);
  await page.goto('/');
  await expect(frame.heading(/are healthy/)).toBeVisible(WELL);
  await stack.killConsole();
  try {
    await expect(frame.banners).toContainText('Connection to the console lost');
    await expect(frame.heading(/Status when the connection was lost/)).toBeVisible();
    await expectCalm(page, 'overview-disconnected');
  } finally {
    await stack.startConsole();
  }
  await expect(frame.heading(/^All 3 nodes/)).toBeVisible(WELL);
});

test('an empty cluster shows three steps with one button each', { tag: '@slow' }, async ({
  browser,
}) => {
  const { url, user, password } = await stack.startEmpty();
  const context = await browser.newContext({
    baseURL: url,
    storageState: await signIn(url, user, password),
  });
  const page = await context.newPage();
  await page.goto('/');
  const steps = new Frame(page).main.getByRole('list').first().getByRole('listitem');
  await expect(steps).toHaveCount(3);
  for (const step of await steps.all()) await expect(step.getByRole('button')).toHaveCount(1);
  await examine(page, 'overview-empty');
  await context.close();
});
