/** Moves of shards: previews, progress and results. */
import { examine } from '../appearance.ts';
import { expect, test } from '../fixtures.ts';
import { DatabasePage } from '../pages/database.ts';
import { Frame } from '../pages/frame.ts';
import { bdbNamed, createSmall, shardsOf } from '../rest.ts';

const NODE = 3;
const DONE = { timeout: 180_000 };

test.describe.configure({ timeout: 600_000 });
test.use({ trace: 'off' });

test('a shard moves to a suitable node, and other nodes show why they are not suitable', async ({
  page,
  api,
}) => {
  const bdb = await createSmall(api, 'moving', { replication: true });
  const shards = await shardsOf(api, bdb.uid);
  const primary = shards.find(({ role }) => role === 'master');
  const partner = shards.find(({ role }) => role === 'slave');
  if (!primary || !partner) throw new Error('no replication pair found');
  const free = ['1', '2', '3'].find((uid) => shards.every(({ node_uid }) => node_uid !== uid));

  await page.goto(`/databases/${bdb.uid}/shards?shard=${primary.uid}`);
  await page.getByRole('button', { name: 'Move to another node…' }).click();
  const dialog = page.getByRole('dialog', { name: `Move redis:${primary.uid} to another node` });
  await expect(dialog).toContainText(`Node ${partner.node_uid} already holds redis:${partner.uid}`);
  await expect(dialog.getByRole('radio', { name: `Node ${partner.node_uid} ` })).toBeDisabled();
  await dialog.getByRole('radio', { name: `Node ${free} ` }).check();
  await examine(page, 'move-shard');
  await dialog.getByRole('button', { name: 'Move', exact: true }).click();
  await expect(dialog).toHaveCount(0);
  await expect
    .poll(async () => {
      const nodes = (await shardsOf(api, bdb.uid)).map(({ role, node_uid }) => role + node_uid);
      return nodes.sort();
    }, DONE)
    .toEqual([`master${free}`, `slave${partner.node_uid}`]);
  await expect.poll(async () => (await bdbNamed(api, 'moving')).status, DONE).toBe('active');
});

test('changing the number of shards shows a preview of the moves', { tag: '@slow' }, async ({
  page,
  api,
}) => {
  const bdb = await createSmall(api, 'growing', { sharding: true, shards_count: 2 });
  const database = new DatabasePage(page);
  await database.open(bdb.uid, 'configuration');
  await page.getByRole('button', { name: 'Edit' }).click();
  await page.getByRole('textbox', { name: 'Number of shards' }).fill('3');
  const preview = page.getByRole('status').filter({ hasText: 'Effects of this change' });
  await expect(preview).toContainText('5,461 of 16,384 slots move');
  await expect(preview).toContainText(/A new primary on node \d gets 5,461/);
  await examine(page, 'change-preview');
  await page.getByRole('region', { name: 'Edit' }).getByRole('button', { name: 'Save' }).click();
  await expect.poll(async () => (await bdbNamed(api, 'growing')).shards_total, DONE).toBe(3);
  await expect.poll(async () => (await bdbNamed(api, 'growing')).status, DONE).toBe('active');
});

test('a rebalance shows a preview and moves shards', { tag: '@slow' }, async ({ page, api }) => {
  const bdb = await createSmall(api, 'scattered', { sharding: true, shards_count: 2 });
  const [stray, other] = await shardsOf(api, bdb.uid);
  const target = stray?.node_uid === '1' ? 2 : 1;
  await api.post(`/v1/shards/${stray?.uid}/actions/migrate`, { data: { target_node_uid: target } });
  const places = async () => (await shardsOf(api, bdb.uid)).map(({ node_uid }) => node_uid).sort();
  await expect.poll(places, DONE).toEqual([other?.node_uid, String(target)].sort());
  await expect.poll(async () => (await bdbNamed(api, 'scattered')).status, DONE).toBe('active');

  await page.goto(`/databases/${bdb.uid}/metrics`);
  await page.getByRole('button', { name: 'Database actions' }).click();
  await page.getByRole('menuitem', { name: 'Rebalance…' }).click();
  const dialog = page.getByRole('dialog', { name: 'Rebalance scattered' });
  await expect(dialog).toContainText(/redis:\d+ moves from node \d to node \d/);
  await dialog.getByLabel('Only switch roles').check();
  await expect(dialog).toContainText('Nothing to do');
  await expect(dialog.getByRole('button', { name: 'Rebalance' })).toBeDisabled();
  await dialog.getByLabel('Only switch roles').uncheck();
  await expect(dialog).toContainText('1 shard moves to another node');
  await examine(page, 'rebalance');
  await dialog.getByRole('button', { name: 'Rebalance' }).click();
  await expect.poll(async () => new Set(await places()).size, DONE).toBe(1);
  await expect.poll(async () => (await bdbNamed(api, 'scattered')).status, DONE).toBe('active');
});

test('a node enters maintenance and gets its shards back afterwards', { tag: '@slow' }, async ({
  page,
  api,
}) => {
  const shardCount = async () => (await (await api.get(`/v1/nodes/${NODE}`)).json()).shard_count;
  const before = await shardCount();
  await page.goto(`/nodes/${NODE}`);
  const menu = page.getByRole('button', { name: 'Node actions' });
  await menu.click();
  await page.getByRole('menuitem', { name: 'Start maintenance…' }).click();
  await page.getByRole('button', { name: 'Start maintenance' }).click();
  // Check both at the same time, because the running action disappears when it is done.
  await Promise.all([
    expect(page.getByRole('main').locator('h1 + [data-tone]')).toHaveText('In maintenance'),
    expect(page.getByRole('main')).toContainText(`Put node ${NODE} into maintenance`),
  ]);
  await examine(page, 'node-maintenance');
  await expect.poll(shardCount, DONE).toBe(0);
  const running = page.getByRole('main').getByRole('heading', { name: 'Running actions' });
  await expect(running).toHaveCount(0, DONE);

  await menu.click();
  await page.getByRole('menuitem', { name: 'End maintenance…' }).click();
  await expect(page.getByRole('dialog')).toContainText(/it held 4\s+shards/);
  await page.getByRole('button', { name: 'End maintenance' }).click();
  await expect.poll(shardCount, DONE).toBe(before);
  await expect(running).toHaveCount(0, DONE);
  await expect(page.getByRole('main').locator('h1 + [data-tone]')).toHaveText('Active');
  await page.goto('/');
  await expect(new Frame(page).heading(/All 3 nodes and 12 shards are healthy/)).toBeVisible(DONE);
});
