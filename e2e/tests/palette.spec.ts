/** Command palette: keyboard operation, actions, and the order of entries. */
import { examine } from '../appearance.ts';
import { expect, test } from '../fixtures.ts';
import { Frame } from '../pages/frame.ts';

test('the palette finds objects, pages and actions by keyboard', { tag: '@slow' }, async ({
  page,
}) => {
  const frame = new Frame(page);
  const field = page.getByRole('combobox', { name: /^Search/ });
  const options = page.getByRole('listbox', { name: 'Results' }).getByRole('option');
  await page.goto('/nodes');
  await expect(frame.heading('Nodes')).toBeVisible();

  await page.keyboard.press('Control+k');
  await expect(field).toBeFocused();
  await expect(options.filter({ hasText: 'Create database' })).toBeVisible();
  await examine(page, 'palette');

  await field.fill('redis');
  await expect(options.first()).toContainText('redis:');
  await examine(page, 'palette-shards');
  await field.fill('demo');
  await expect(options.first()).toContainText('demo');
  const texts = await options.allTextContents();
  const lastOther = texts.findLastIndex((text) => !/redis:\d/.test(text));
  expect(texts.slice(0, lastOther).filter((text) => /redis:\d/.test(text)).length).toBeLessThan(4);

  await field.fill('stop traffic of demo');
  await expect(options.first()).toContainText('Stop traffic to demo');
  await page.keyboard.press('Enter');
  const dialog = frame.dialog('Stop traffic to demo?');
  await expect(dialog.getByRole('button', { name: 'Stop traffic' })).toBeDisabled();
  await page.keyboard.press('Escape');
  await expect(dialog).toHaveCount(0);

  const search = page.getByRole('button', { name: 'Search' });
  await search.click();
  await expect(options.first()).toContainText('Stop traffic to demo');
  await expect(page.getByRole('group', { name: 'Recently used' })).toBeVisible();
  await page.keyboard.press('Escape');
  await expect(search).toBeFocused();

  await page.keyboard.press('/');
  await field.fill('dark theme');
  await page.keyboard.press('Enter');
  await expect(page.locator('html')).toHaveAttribute('data-mantine-color-scheme', 'dark');
});
