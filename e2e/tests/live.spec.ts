/** Live updates every second, banners for failures, and automatic recovery. */
import { examine } from '../appearance.ts';
import { expect, test } from '../fixtures.ts';
import { watchStream } from '../frames.ts';
import { DatabasePage } from '../pages/database.ts';
import { DatabasesPage } from '../pages/databases.ts';
import { Frame } from '../pages/frame.ts';
import { NodesPage } from '../pages/nodes.ts';
import { createSmall, remove, shardsOf } from '../rest.ts';
import { stack, stackInfo } from '../stack.ts';

const SAMPLES = 10;
const LONGEST_GAP_MS = 2_000;
const WELL = { timeout: 90_000 };

test('a sample arrives at least every two seconds', { tag: '@slow' }, async ({ page }) => {
  const frames = await watchStream(page);
  const arrivals = () =>
    frames.filter(({ name, data }) => name === 'sample' && data.topic === 'cluster');
  /** Return the longest series of samples without a gap, because a slow machine can cause single gaps. */
  const longestRun = () => {
    let [longest, run, before] = [0, 0, 0];
    for (const { received } of arrivals()) {
      run = received - before <= LONGEST_GAP_MS ? run + 1 : 1;
      longest = Math.max(longest, run);
      before = received;
    }
    return longest;
  };
  await page.goto('/');
  await expect.poll(longestRun, { timeout: 90_000 }).toBeGreaterThan(SAMPLES);
});

test('after a console restart the page reconnects without missing samples', {
  tag: '@slow',
}, async ({ page }) => {
  const database = new DatabasePage(page);
  const frame = new Frame(page);
  await database.open(stackInfo().bdb, 'metrics');
  await expect(database.figure('Throughput', 'Reads', 'last')).not.toHaveText('–');
  const killed = Math.floor(Date.now() / 1000);
  await stack.killConsole();
  await expect(frame.banners).toContainText('Connection to the console lost');
  await expect(frame.live).toHaveText('Lost');

  await stack.startConsole();
  await expect(frame.banners).not.toContainText('Connection to the console lost');
  await expect(frame.live).toHaveText('Live');
  const back = Math.floor(Date.now() / 1000);
  expect(back).toBeGreaterThan(killed);
  const seconds = Array.from({ length: back - killed + 6 }, (_, index) => killed - 5 + index);

  const missing = async () => {
    const rows = await database.csv('Throughput');
    const known = rows.filter(({ values }) => !values.includes(null)).map(({ second }) => second);
    return seconds.filter((second) => !known.includes(second));
  };
  await expect.poll(missing, { message: 'seconds without a sample' }).toEqual([]);
});

test('a killed agent is shown until it is back', async ({ page }) => {
  const frame = new Frame(page);
  const nodes = new NodesPage(page);
  await nodes.open();
  await expect(nodes.row(2)).toContainText('Active');
  await stack.killAgent(2);
  try {
    await expect(nodes.row(2).locator('[data-tone="attention"]')).toHaveText(
      /has not responded|lost/,
    );
    await expect(frame.banners).toContainText(/node 2 .* for \d+/);
    await expect(nodes.row(1)).toContainText('Active');
    await frame.goTo('Overview');
    await expect(frame.heading(/node 2/i)).toBeVisible();
  } finally {
    await stack.startAgents();
  }
  await expect(frame.heading(/All 3 nodes and 12 shards are healthy/)).toBeVisible(WELL);
  await frame.goTo('Nodes');
  await expect(nodes.row(2)).toContainText('Active');
  await expect(frame.banners).not.toContainText('node 2');
});

test('a failed shard is shown on all pages', async ({ page, api }) => {
  const { uid, name } = await createSmall(api, 'fragile');
  const frame = new Frame(page);
  const database = new DatabasePage(page);
  await database.open(uid, 'shards');
  await expect(database.cells).toHaveCount(1);
  const [shard] = await shardsOf(api, uid);
  await stack.killShard(shard?.uid ?? '');
  await expect(frame.banners).toContainText(`Primary redis:${shard?.uid} of ${name} has been down`);
  await expect(database.cells).toHaveAttribute('data-severity', 'broken');
  await expect(database.cells).toHaveAccessibleName(/down|killed|ended/);
  await examine(page, 'shards-trouble', { bothThemes: true });
  await database.cells.click();
  const panel = frame.dialog(`redis:${shard?.uid}`);
  await expect(panel.locator('[data-tone="broken"]')).toBeVisible();
  await panel.getByRole('button', { name: 'Close' }).click();
  await frame.goTo('Overview');
  await expect(
    frame.heading(new RegExp(`^Primary redis:\\d+ of ${name} has been down`)),
  ).toBeVisible();
  await expect(page.locator('[data-column="last"]').first()).not.toHaveText('–');
  await examine(page, 'overview-trouble');
  await frame.goTo('Activity');
  await frame.openTab('Activity', 'Events');
  await expect(page.getByRole('row').filter({ hasText: name }).first()).toBeVisible();
  await remove(api, uid);
  await expect(new DatabasesPage(page).row(name)).toHaveCount(0);
});
