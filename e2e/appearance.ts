/** Checks the accessibility of a page in both themes, and takes screenshots at up to three widths for manual review. */
import { AxeBuilder } from '@axe-core/playwright';
import { expect, type Page } from '@playwright/test';

const SCREENSHOTS = new URL('./screenshots/', import.meta.url).pathname;
const THEMES = ['light', 'dark'] as const;
const WIDE = { width: 1440, height: 900 };
const NARROW = { width: 800, height: 900 };
const PHONE = { width: 390, height: 844 };
const SERIOUS = ['serious', 'critical'];

/** Like `examine`, but only in `make test-all`: for parts of a page that another screenshot already covers. */
export async function examineInAll(page: Page, name: string): Promise<void> {
  if (process.env.ALL) await examine(page, name);
}

export async function examine(page: Page, name: string): Promise<void> {
  for (const theme of THEMES) {
    await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
    for (const size of sizesOf(theme)) {
      await page.setViewportSize(size);
      await untilSettled(page);
      await page.screenshot({ path: `${SCREENSHOTS}${name}-${theme}-${size.width}.png` });
    }
    await page.setViewportSize(WIDE);
    // The other theme differs only in its colors.
    const rules = theme === 'light' ? {} : { only: ['color-contrast'] };
    expect(await violations(page, rules), `${name}, ${theme}`).toEqual([]);
  }
  if (process.env.ALL) await captureCompletePage(page, name);
}

/** Return the sizes for a theme. `make test-all` uses several sizes per theme, `make test` one. */
function sizesOf(theme: (typeof THEMES)[number]) {
  if (process.env.ALL) return theme === 'light' ? [WIDE, NARROW, PHONE] : [WIDE, NARROW];
  return theme === 'light' ? [WIDE] : [NARROW];
}

/** Take a screenshot of the complete page if it does not fit on one screen. */
async function captureCompletePage(page: Page, name: string): Promise<void> {
  const hidden = await page
    .locator('#content')
    .evaluateAll(([main]) => (main ? main.scrollHeight - main.clientHeight : 0));
  if (hidden < 40) return;
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize({ ...WIDE, height: WIDE.height + hidden });
  await untilSettled(page);
  await page.screenshot({ path: `${SCREENSHOTS}${name}-light-whole.png` });
}

/** Wait until the page has adapted to a new size and theme: no transition runs for some frames, because one can start another. */
async function untilSettled(page: Page): Promise<void> {
  await page.evaluate(async () => {
    for (let quiet = 0; quiet < 4; quiet += 1) {
      await new Promise(requestAnimationFrame);
      const running = document.getAnimations().some((item) => item instanceof CSSTransition);
      if (running) quiet = 0;
    }
  });
}

async function violations(page: Page, { only }: { only?: string[] }): Promise<string[]> {
  // Legacy mode needs no second browser page, and the page has no iframes.
  const axe = new AxeBuilder({ page }).setLegacyMode(true);
  const { violations: found } = await (only ? axe.withRules(only) : axe).analyze();
  return found
    .filter(({ impact }) => SERIOUS.includes(impact ?? ''))
    .map(({ id, impact, help, nodes }) => {
      const where = nodes.slice(0, 3).map(({ target }) => target.join(' '));
      return `${impact} ${id}: ${help}, at ${where.join(' | ')}`;
    });
}
