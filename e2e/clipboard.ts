/** What the page copies. */
import { expect, type Page } from '@playwright/test';

/** The text that is on the clipboard once `click` has had its effect: it was empty before, so it is none of an earlier click. */
export async function copiedBy(page: Page, click: () => Promise<void>): Promise<string> {
  const text = () => page.evaluate(() => navigator.clipboard.readText());
  await page.evaluate(() => navigator.clipboard.writeText(''));
  await click();
  await expect.poll(text, { message: 'what was copied' }).not.toBe('');
  return text();
}
