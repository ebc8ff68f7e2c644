/** Acknowledging alarms, and the guide that describes what to do. */
import type { APIRequestContext } from '@playwright/test';
import { examine } from '../appearance.ts';
import { expect, test } from '../fixtures.ts';

const setMemoryAlert = async (api: APIRequestContext, enabled: boolean) => {
  const alert_settings = { node_memory: enabled ? { enabled, threshold: '1' } : { enabled } };
  expect((await api.put('/v1/cluster', { data: { alert_settings } })).status()).toBe(200);
};

const acknowledged = async (api: APIRequestContext): Promise<number> =>
  (await (await api.get('/v1/cluster/health')).json()).acknowledged;

test('an alarm is acknowledged, and no longer counted until the acknowledgement is withdrawn', {
  tag: '@slow',
}, async ({ page, api }) => {
  await setMemoryAlert(api, true);
  try {
    await page.goto('/activity/alarms');
    const active = page.getByRole('region', { name: 'Active alarms' });
    const row = active.getByRole('row').filter({ hasText: 'The memory of node 1' });
    await expect(row).toBeVisible();
    await expect(active.getByRole('row').filter({ hasText: 'The memory of node 3' })).toBeVisible();
    await examine(page, 'alarms-open');

    await row.getByRole('button', { name: 'Acknowledge…' }).click();
    const dialog = page.getByRole('dialog', { name: 'Acknowledge alarm' });
    await dialog.getByLabel('Note').fill('More memory is installed on Friday.');
    await dialog.getByLabel('Expires').selectOption('In 1 day');
    await examine(page, 'alarms-dialog');
    await dialog.getByRole('button', { name: 'Acknowledge', exact: true }).click();
    await expect(dialog).toBeHidden();
    await expect(row).toContainText('More memory is installed on Friday.');
    await expect(row).toContainText('Assigned to');
    expect(await acknowledged(api)).toBe(1);
    await examine(page, 'alarms-acknowledged');
    await active.getByLabel('Show').selectOption('acknowledged');
    await expect(active.getByRole('row')).toHaveCount(2);
    await page.reload();
    await expect(row).toContainText('More memory is installed on Friday.');

    await page.goto('/');
    await expect(page.getByText('1 acknowledged alarm')).toBeVisible();
    await expect(page.getByRole('link', { name: /memory of node 1/ })).toHaveCount(0);
    await examine(page, 'overview-acknowledged');

    await page.goto('/activity/alarms');
    await row.getByRole('button', { name: 'Withdraw' }).click();
    await expect(row.getByRole('button', { name: 'Acknowledge…' })).toBeVisible();
    expect(await acknowledged(api)).toBe(0);

    await row.getByRole('link', { name: 'What to do' }).click();
    await expect(page.getByRole('heading', { name: 'Alarms and notifications' })).toBeAttached();
    await expect(page.locator('[data-target]')).toBeInViewport();
    await examine(page, 'guide-alarms');
  } finally {
    await setMemoryAlert(api, false);
  }
});
