/** Drills: the banner, the timeline, the incident, and the recovery. */
import type { APIRequestContext } from '@playwright/test';
import { examine } from '../appearance.ts';
import { copiedBy } from '../clipboard.ts';
import { expect, test } from '../fixtures.ts';
import { DrillDialog } from '../pages/drill.ts';
import { Frame } from '../pages/frame.ts';
import { TimelinePage } from '../pages/timeline.ts';
import { allowDrills, type Shard, shardsOf } from '../rest.ts';
import { stackInfo } from '../stack.ts';

const NODE = 2;
/** Longer than the detection of the failure and opening the link of its banner take, also on a slow machine. */
const AWAY_SECONDS = 30;
const WELL = { timeout: 120_000 };

test.describe.configure({ timeout: 300_000 });
// Recording all changes of these live pages would take longer than the test.
test.use({ trace: 'off' });

test.beforeAll(async () => allowDrills(true));
test.afterAll(async () => allowDrills(false));

test.afterEach(async ({ page }) => {
  await page.goto('/');
  await expect(new Frame(page).heading(/All 3 nodes and 12 shards are healthy/)).toBeVisible(WELL);
});

async function anyPrimary(api: APIRequestContext): Promise<Shard> {
  const found = (await shardsOf(api, stackInfo().bdb)).find(({ role }) => role === 'master');
  if (!found) throw new Error('no primary found');
  return found;
}

test('killing a shard shows a banner, the failover on the timeline, and the incident', async ({
  page,
  api,
}) => {
  const frame = new Frame(page);
  const timeline = new TimelinePage(page);
  const { uid: shard, node_uid: holder } = await anyPrimary(api);
  await page.goto(`/nodes/${holder}`);
  await page.getByRole('button', { name: 'Node actions' }).click();
  await page.getByRole('menuitem', { name: 'Drill…' }).click();
  // The banner is visible only for some seconds, so check it while the page navigates to the timeline.
  await Promise.all([
    expect(frame.banners).toContainText(`Drill: Kill shard redis:${shard} on node ${holder}`),
    new DrillDialog(page, Number(holder)).start('Kill one shard', { shard }),
  ]);
  await expect(page).toHaveURL(/\/timeline/);
  await expect(timeline.marks(/Drill: Kill shard/).first()).toBeVisible();
  await page.getByLabel('Type', { exact: true }).selectOption({ label: 'Failovers' });
  const failover = timeline.marks(new RegExp(`redis:${shard}\\b`)).first();
  await expect(failover).toBeVisible();
  await failover.click();
  await expect(timeline.panel).toContainText(`redis:${shard}`);

  const heading = frame.heading(new RegExp(`^Primary redis:${shard} .*(was|has been) down for`));
  await timeline.panel.getByRole('link', { name: `incident of primary redis:${shard}` }).click();
  await expect(heading).toBeVisible(WELL);
  await expect(frame.main).toContainText(/1 shard failed over, promoted .* after detection/, WELL);
  await expect(timeline.rows('Databases')).toHaveCount(1);
  const incident = new URL(page.url()).pathname;
  const file = page.waitForEvent('download');
  await page.getByRole('link', { name: 'Download' }).click();
  expect((await file).suggestedFilename()).toMatch(/^incident-\d+\.md$/);

  await page.goto('/activity/incidents');
  await page
    .getByRole('link', { name: `primary redis:${shard}` })
    .first()
    .focus();
  await page.keyboard.press('Enter');
  await expect(heading).toBeVisible();
  expect(new URL(page.url()).pathname).toBe(incident);
});

test('a running drill can be ended from its banner', { tag: '@slow' }, async ({ page, api }) => {
  const { banners } = new Frame(page);
  const { uid: shard, node_uid: holder } = await anyPrimary(api);
  await page.goto(`/nodes/${holder}`);
  await page.getByRole('button', { name: 'Node actions' }).click();
  await page.getByRole('menuitem', { name: 'Drill…' }).click();
  await new DrillDialog(page, Number(holder)).start('Freeze one shard', { shard, seconds: 120 });
  const end = banners.getByRole('button', { name: 'End now' });
  await expect(end).toBeVisible();
  await examine(page, 'drill-banner', { bothThemes: true });
  await end.click();
  await expect(end).toHaveCount(0);
});

test('rebooting a node shows the incident from the outage to the resync', { tag: '@slow' }, async ({
  page,
}) => {
  const frame = new Frame(page);
  const timeline = new TimelinePage(page);
  await page.goto('/');
  await page.getByRole('region', { name: 'Guided tour' }).getByRole('button').click();
  await new DrillDialog(page, NODE).start('Reboot the node', { seconds: AWAY_SECONDS });

  const banner = frame.banners.getByText(`Node ${NODE} has been down`);
  await expect(banner).toBeVisible(WELL);
  await expect(timeline.marks(/^Node 2 /).first()).toBeVisible();
  const details = frame.banners.getByRole('link', { name: 'View details' });
  // Until the event of the outage has arrived, the link leads to the node.
  await expect(details).toHaveAttribute('href', /incident/);
  await details.click();

  await expect(page).toHaveURL(/\/activity\/incidents\/\d+/);
  await expect(frame.heading(/^Node 2 was down for/)).toBeVisible(WELL);
  await expect(page.getByText(/(resynced in|back in sync)/).first()).toBeVisible(WELL);
  await expect(timeline.rows('Failovers').first()).toBeVisible();
  await expect(page.getByRole('region', { name: 'Outage' })).toContainText('Drill requested by');

  const tour = page.getByRole('region', { name: 'Guided tour' });
  await expect(tour.getByRole('link', { name: 'Open report' })).toBeVisible(WELL);
  await expect(tour.getByRole('listitem')).toHaveCount(5);
  for (const step of await tour.getByRole('listitem').all())
    await expect(step).toHaveAttribute('data-state', 'done');

  const copy = page.getByRole('button', { name: 'Copy as Markdown' });
  const report = await copiedBy(page, () => copy.click());
  expect(report).toMatch(/^# .*Node 2/m);
  expect(report).toContain(page.url().replace(/\?.*/, ''));
  await examine(page, 'incident');

  await tour.getByRole('button', { name: 'Done' }).click();
  await expect(tour).toHaveCount(0);
  const offer = page.getByRole('button', { name: 'Switch back…' });
  await expect(offer.first()).toBeVisible(WELL);
  await offer.first().click();
  await page.getByRole('dialog').getByRole('button', { name: 'Switch back' }).click();
  await expect(page.getByRole('dialog')).toHaveCount(0);
  await expect(offer).toHaveCount(0, WELL);

  await page.goto('/activity/events?span=all');
  const events = page.getByRole('table', { name: 'Events' });
  const outage = events.getByRole('row').filter({ hasText: `Node ${NODE} went down` });
  await expect(outage.getByRole('link', { name: 'Incident' })).toBeVisible();
  const folded = await events.getByRole('row').count();
  await outage.getByRole('button', { name: /events since/ }).click();
  await expect.poll(() => events.getByRole('row').count()).toBeGreaterThan(folded + 2);
  await examine(page, 'events-outage');

  await page.keyboard.press('/');
  await page.getByRole('combobox', { name: /^Search/ }).fill('went down');
  await page.getByRole('option', { name: new RegExp(`Node ${NODE} went down`) }).click();
  await expect(page).toHaveURL(/\/timeline\?.*event=/);
});
