/** The rules of the cluster, as an administrator changes them. */
import { expect, test } from '../fixtures.ts';

test('a rule is changed, kept, and set back', async ({ page, api }) => {
  const rule = page.getByRole('textbox', { name: 'Events of one type' });
  const kept = async () => (await (await api.get('/v1/cluster/policy')).json()) as object;
  await page.goto('/settings');
  await expect(rule).toHaveValue('5 000');
  await rule.fill('7000');
  await page.getByRole('button', { name: /Save 1\schange/ }).click();
  await expect.poll(kept).toMatchObject({ max_saved_events_per_type: 7000 });
  await page.reload();
  await expect(rule).toHaveValue('7 000');
  await page.getByRole('button', { name: 'Events of one type: back to the default' }).click();
  await page.getByRole('button', { name: /Save 1\schange/ }).click();
  await expect.poll(kept).toMatchObject({ max_saved_events_per_type: 5000 });
});
