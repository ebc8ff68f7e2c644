/** Looks at a page in both themes and three widths: accessibility, and pictures for people to look at. */
import { AxeBuilder } from '@axe-core/playwright';
import { expect, type Page } from '@playwright/test';

const SCREENSHOTS = new URL('./screenshots/', import.meta.url).pathname;
const THEMES = ['light', 'dark'] as const;
const WIDE = { width: 1440, height: 900 };
const NARROW = { width: 800, height: 900 };
const PHONE = { width: 390, height: 844 };
const SERIOUS = ['serious', 'critical'];

/** The same where `make test-all` looks only: what is within a page that another look shows. */
export async function examineInAll(page: Page, name: string): Promise<void> {
  if (process.env.ALL) await examine(page, name);
}

export async function examine(page: Page, name: string): Promise<void> {
  for (const theme of THEMES) {
    await page.emulateMedia({ colorScheme: theme, reducedMotion: 'reduce' });
    for (const size of sizesOf(theme)) {
      await page.setViewportSize(size);
      await drawn(page);
      await page.screenshot({ path: `${SCREENSHOTS}${name}-${theme}-${size.width}.png` });
    }
    await page.setViewportSize(WIDE);
    // Of what the other theme shows, the colours alone are different.
    const rules = theme === 'light' ? {} : { only: ['color-contrast'] };
    expect(await violations(page, rules), `${name}, ${theme}`).toEqual([]);
  }
  if (process.env.ALL) await whole(page, name);
}

/** Both for each theme where `make test-all` looks; `make test` looks at each size and each theme once. */
function sizesOf(theme: (typeof THEMES)[number]) {
  if (process.env.ALL) return theme === 'light' ? [WIDE, NARROW, PHONE] : [WIDE, NARROW];
  return theme === 'light' ? [WIDE] : [NARROW];
}

/** What does not fit on one screen, too. */
async function whole(page: Page, name: string): Promise<void> {
  const hidden = await page
    .locator('#content')
    .evaluateAll(([main]) => (main ? main.scrollHeight - main.clientHeight : 0));
  if (hidden < 40) return;
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize({ ...WIDE, height: WIDE.height + hidden });
  await drawn(page);
  await page.screenshot({ path: `${SCREENSHOTS}${name}-light-whole.png` });
}

/** Until it has reacted to its new size and theme: no transition runs for some frames, as one may start the next. */
async function drawn(page: Page): Promise<void> {
  await page.evaluate(async () => {
    for (let quiet = 0; quiet < 4; quiet += 1) {
      await new Promise(requestAnimationFrame);
      const running = document.getAnimations().some((item) => item instanceof CSSTransition);
      if (running) quiet = 0;
    }
  });
}

async function violations(page: Page, { only }: { only?: string[] }): Promise<string[]> {
  // There are no frames to join, so there is no need for a second browser page each time.
  const axe = new AxeBuilder({ page }).setLegacyMode(true);
  const { violations: found } = await (only ? axe.withRules(only) : axe).analyze();
  return found
    .filter(({ impact }) => SERIOUS.includes(impact ?? ''))
    .map(({ id, impact, help, nodes }) => {
      const where = nodes.slice(0, 3).map(({ target }) => target.join(' '));
      return `${impact} ${id}: ${help}, at ${where.join(' | ')}`;
    });
}
