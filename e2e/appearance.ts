/** Checks the accessibility of a page. `make screenshots` also takes screenshots at up to three widths for manual review. */
import { AxeBuilder } from '@axe-core/playwright';
import { expect, type Page } from '@playwright/test';

const ALL = Boolean(process.env.ALL);
/** Screenshots take more time than the checks, and only people use them. */
const TAKES_SCREENSHOTS = Boolean(process.env.SCREENSHOTS);
const DIRECTORY = new URL('./screenshots/', import.meta.url).pathname;
const THEMES = ['light', 'dark'] as const;
type Theme = (typeof THEMES)[number];
const WIDE = { width: 1440, height: 900 };
const NARROW = { width: 800, height: 900 };
const PHONE = { width: 390, height: 844 };
const SIZES = { light: [WIDE, NARROW, PHONE], dark: [WIDE, NARROW] };
const SERIOUS = ['serious', 'critical'];

/** Like `examine`, but only in `make test-all`: for parts of a page that another view already covers. */
export async function examineInAll(page: Page, name: string): Promise<void> {
  if (ALL) await examine(page, name);
}

/**
 * Check that a view has no serious accessibility violations. `make test-all` checks both themes of all views, `make test` only those
 * of views with `bothThemes`, which together contain all kinds of colors.
 */
export async function examine(
  page: Page,
  name: string,
  { bothThemes = ALL }: { bothThemes?: boolean } = {},
): Promise<void> {
  for (const theme of THEMES.slice(0, bothThemes ? 2 : 1)) {
    await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
    if (TAKES_SCREENSHOTS) await takeScreenshots(page, name, theme);
    await page.setViewportSize(WIDE);
    await untilSettled(page);
    // The other theme differs only in its colors.
    const rules = theme === 'light' ? {} : { only: ['color-contrast'] };
    expect(await violations(page, rules), `${name}, ${theme}`).toEqual([]);
  }
  if (TAKES_SCREENSHOTS) await captureCompletePage(page, name);
}

async function takeScreenshots(page: Page, name: string, theme: Theme): Promise<void> {
  for (const size of SIZES[theme]) {
    await page.setViewportSize(size);
    await untilSettled(page);
    await page.screenshot({ path: `${DIRECTORY}${name}-${theme}-${size.width}.png` });
  }
}

/** Take a screenshot of the complete page if it does not fit on one screen. */
async function captureCompletePage(page: Page, name: string): Promise<void> {
  const hidden = await page.evaluate(
    () => document.documentElement.scrollHeight - window.innerHeight,
  );
  if (hidden < 40) return;
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize({ ...WIDE, height: WIDE.height + hidden });
  await untilSettled(page);
  await page.screenshot({ path: `${DIRECTORY}${name}-light-whole.png` });
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
  // axe need not describe the elements that pass a rule, which are the most.
  const axe = new AxeBuilder({ page }).setLegacyMode(true).options({ resultTypes: ['violations'] });
  const { violations: found } = await (only ? axe.withRules(only) : axe).analyze();
  return found
    .filter(({ impact }) => SERIOUS.includes(impact ?? ''))
    .map(({ id, impact, help, nodes }) => {
      const where = nodes.slice(0, 3).map(({ target }) => target.join(' '));
      return `${impact} ${id}: ${help}, at ${where.join(' | ')}`;
    });
}
