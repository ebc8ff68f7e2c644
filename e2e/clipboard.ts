/** Access to the clipboard of the page. */
import { expect, type Page } from '@playwright/test';

/** Return the text that `click` copies. The clipboard is cleared first, so the text is not from an earlier click. */
export async function copiedBy(page: Page, click: () => Promise<void>): Promise<string> {
  const text = () => page.evaluate(() => navigator.clipboard.readText());
  await page.evaluate(() => navigator.clipboard.writeText(''));
  await click();
  await expect.poll(text, { message: 'copied text' }).not.toBe('');
  return text();
}
