/** CPU pinning of a node, and the settings of its machine. */
import { examineInAll } from '../appearance.ts';
import { expect, test } from '../fixtures.ts';
import { createSmall } from '../rest.ts';

test.describe('CPU pinning @slow', () => {
  test.afterEach(async ({ api }) => {
    await api.put('/v1/nodes/1', { data: { cpu_pinning: { mode: 'off' } } });
  });

  test('shards are pinned in a dialog, and their cores are shown', async ({ page, api }) => {
    const settings = { sharding: true, shards_count: 3 };
    const { uid } = await createSmall(api, 'pinned', settings);
    const stored = async () => (await (await api.get('/v1/nodes/1')).json()).cpu_pinning_state;
    await page.goto('/nodes/1');
    await page.getByRole('button', { name: 'Node actions' }).click();
    await page.getByRole('menuitem', { name: 'Set CPU pinning…' }).click();
    const dialog = page.getByRole('dialog', { name: 'CPU pinning of node 1' });
    await dialog.getByRole('radio', { name: 'Chosen cores' }).check();
    await dialog.getByRole('textbox', { name: 'Cores of shards' }).fill('8000');
    await dialog.getByRole('button', { name: 'Set pinning' }).click();
    await expect(dialog).toContainText('Cores 8000 do not exist or are offline');
    await examineInAll(page, 'cpu-pinning');
    await dialog.getByRole('textbox', { name: 'Cores of shards' }).fill('0');
    await dialog.getByRole('button', { name: 'Set pinning' }).click();
    await expect(dialog).toHaveCount(0);
    await expect(page.getByText('Shards: cores 0. Proxy: all cores')).toBeVisible();
    await expect.poll(stored).toMatchObject({ state: 'active' });
    await expect(page.getByRole('columnheader', { name: 'Cores' })).toBeVisible();
    await expect(page.getByText('0 (NUMA node 0)').first()).toBeVisible();
    await page.goto(`/databases/${uid}/shards`);
    await expect(page.getByText('pinned to cores').first()).toBeVisible();
  });

  test('host settings contain commands to copy', async ({ page }) => {
    await page.goto('/nodes/1');
    const card = page.getByRole('region', { name: 'Host settings' });
    await card.getByText('Swappiness', { exact: true }).click();
    await expect(card.getByText('sysctl -w vm.swappiness=1')).toBeVisible();
    await card.getByRole('button', { name: 'Copy commands: Swappiness' }).click();
    await examineInAll(page, 'host-settings');
  });
});
