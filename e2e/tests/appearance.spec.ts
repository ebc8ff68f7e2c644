/** All pages: no serious accessibility violations, and in `make screenshots` pictures of them. */
import type { Page } from '@playwright/test';
import { examine } from '../appearance.ts';
import { expect, SIGNED_OUT, signIn, test } from '../fixtures.ts';
import { DatabasePage } from '../pages/database.ts';
import { Frame } from '../pages/frame.ts';
import { shardsOf } from '../rest.ts';
import { stack, stackInfo } from '../stack.ts';

interface PageView {
  name: string;
  /** Whether it runs only in `make test-all`, because another view covers the same kind of page. */
  slow?: boolean;
  /** Whether `make test` also checks the dark theme. `make test-all` always does. */
  bothThemes?: boolean;
  path: (bdb: number) => string;
  /** Resolves when the page shows its content. */
  ready: (page: Page) => Promise<void>;
}

// Recording all changes of live pages would take as long as the tests.
test.use({ trace: 'off' });

const figures = async (page: Page) => {
  const last = page.locator('[data-column="last"]');
  await expect(last.first()).not.toHaveText('–');
};
const rows = (label: string) => async (page: Page) => {
  const table = page.getByRole('table', { name: label });
  await expect(table.getByRole('cell').nth(1)).toBeVisible();
};
const shown = (text: string | RegExp) => async (page: Page) => {
  await expect(page.getByText(text).first()).toBeVisible();
};
const cells = async (page: Page) => {
  const values = page.locator('[data-shard] [data-value]');
  await expect(values).toHaveCount(12);
  await expect(values.first()).not.toHaveText('–');
};

const VIEWS: PageView[] = [
  { name: 'overview', bothThemes: true, path: () => '/', ready: figures },
  { name: 'databases', slow: true, path: () => '/databases', ready: rows('Databases') },
  {
    name: 'create',
    bothThemes: true,
    path: () => '/databases/new',
    ready: shown('Summary of the new database'),
  },
  { name: 'metrics', path: (bdb) => `/databases/${bdb}/metrics`, ready: figures },
  {
    name: 'metrics-shards',
    slow: true,
    path: (bdb) => `/databases/${bdb}/metrics?by=shards`,
    ready: shown('Farthest from the median first'),
  },
  {
    name: 'metrics-top-shards',
    slow: true,
    path: (bdb) => `/databases/${bdb}/metrics?by=shards&view=top`,
    ready: figures,
  },
  { name: 'shards', path: (bdb) => `/databases/${bdb}/shards`, ready: cells },
  { name: 'endpoint', slow: true, path: (bdb) => `/databases/${bdb}/endpoint`, ready: figures },
  { name: 'settings', path: () => '/settings', ready: shown('Allow drills') },
  {
    name: 'timeline',
    path: () => '/activity/timeline',
    ready: shown('P99 latency of all databases'),
  },
  {
    name: 'configuration',
    path: (bdb) => `/databases/${bdb}/configuration`,
    ready: shown('High availability'),
  },
  {
    name: 'database-events',
    slow: true,
    path: (bdb) => `/databases/${bdb}/events?span=all`,
    ready: rows('Events'),
  },
  {
    name: 'availability',
    slow: true,
    path: () => '/databases/availability',
    ready: rows('Availability of databases'),
  },
  {
    name: 'database-availability',
    slow: true,
    path: (bdb) => `/databases/${bdb}/availability`,
    ready: rows('Availability by month'),
  },
  { name: 'nodes', bothThemes: true, path: () => '/nodes', ready: rows('Nodes') },
  { name: 'node', path: () => '/nodes/1', ready: figures },
  { name: 'alarms', path: () => '/activity/alarms', ready: shown('Ended in this time range') },
  { name: 'actions', slow: true, path: () => '/activity/actions', ready: rows('Actions') },
  { name: 'events', path: () => '/activity/events?span=all', ready: rows('Events') },
  {
    name: 'no-such-page',
    path: () => '/nowhere',
    ready: async (page) => {
      await shown('Page not found')(page);
      await expect(page.getByRole('navigation', { name: 'Main' })).toBeVisible();
    },
  },
  {
    name: 'no-such-database',
    slow: true,
    path: () => '/databases/999/metrics',
    ready: shown('Database 999 does not exist'),
  },
];

const PAGES_PER_TEST = 4;
const views = VIEWS.filter(({ slow }) => !slow || process.env.ALL);

// One page navigates between the views like a link does, because loading it for each view would take as long as the view.
for (let first = 0; first < views.length; first += PAGES_PER_TEST) {
  const part = views.slice(first, first + PAGES_PER_TEST);
  test(`pages ${part.map(({ name }) => name).join(', ')}`, async ({ page }) => {
    test.setTimeout(part.length * 60_000);
    await page.goto('/');
    const failures: string[] = [];
    for (const { name, bothThemes, path, ready } of part) {
      const visit = async () => {
        await page.evaluate((to) => history.pushState({}, '', to), path(stackInfo().bdb));
        await ready(page);
        await examine(page, name, { bothThemes });
      };
      await test.step(name, visit).catch((error) => failures.push(`${name}: ${error}`));
    }
    expect(failures).toEqual([]);
  });
}

test('details of a shard', async ({ page, api }) => {
  const { bdb } = stackInfo();
  const shard = (await shardsOf(api, bdb)).find(({ role }) => role === 'slave');
  await page.goto(`/databases/${bdb}/shards?shard=${shard?.uid}`);
  await expect(new Frame(page).dialog(`redis:${shard?.uid}`)).toContainText('In sync');
  await figures(page);
  await examine(page, 'shard');
});

const OVERLAYS: {
  name: string;
  slow?: boolean;
  bothThemes?: boolean;
  path: (bdb: number) => string;
  open: (page: Page) => Promise<void>;
}[] = [
  {
    name: 'shortcuts',
    slow: true,
    path: () => '/nodes',
    open: async (page) => {
      await page.keyboard.press('?');
      await expect(new Frame(page).dialog('Keyboard shortcuts')).toBeVisible();
    },
  },
  {
    name: 'search',
    path: () => '/nodes',
    open: async (page) => {
      await page.keyboard.press('/');
      await expect(page.getByRole('listbox', { name: 'Results' })).toContainText('demo');
    },
  },
  {
    name: 'user-menu',
    slow: true,
    path: () => '/nodes',
    open: async (page) => {
      await new Frame(page).userMenu.click();
      await expect(page.getByRole('menuitem', { name: 'Sign out' })).toBeVisible();
    },
  },
  {
    name: 'add-node',
    slow: true,
    path: () => '/nodes',
    open: async (page) => {
      await page.getByRole('button', { name: 'Add node' }).click();
      await expect(new Frame(page).dialog('Add node')).toContainText('--token');
    },
  },
  {
    name: 'delete',
    bothThemes: true,
    path: (bdb) => `/databases/${bdb}/configuration`,
    open: async (page) => {
      await expect(await new DatabasePage(page).askToDelete()).toBeVisible();
    },
  },
  {
    name: 'upgrade',
    slow: true,
    path: (bdb) => `/databases/${bdb}/shards`,
    open: async (page) => {
      await page.getByRole('button', { name: 'Database actions' }).click();
      await page.getByRole('menuitem', { name: 'Upgrade engine' }).click();
      await expect(
        page.getByText('All shards already run the engine that is installed on their nodes'),
      ).toBeVisible();
    },
  },
  {
    name: 'upgrade-node',
    slow: true,
    path: () => '/nodes/1',
    open: async (page) => {
      await page.getByRole('button', { name: 'Node actions' }).click();
      await page.getByRole('menuitem', { name: 'Upgrade databases' }).click();
      await expect(
        page.getByText('All shards of its databases already run the engine version'),
      ).toBeVisible();
    },
  },
  {
    name: 'edit',
    slow: true,
    path: (bdb) => `/databases/${bdb}/configuration`,
    open: async (page) => {
      await page.getByRole('button', { name: 'Edit' }).click();
      await expect(
        page.getByRole('region', { name: 'Edit' }).getByRole('button', { name: 'Save' }),
      ).toBeVisible();
    },
  },
  {
    name: 'edit-shards',
    path: (bdb) => `/databases/${bdb}/configuration`,
    open: async (page) => {
      await page.getByRole('button', { name: 'Edit' }).click();
      await page.getByRole('textbox', { name: 'Number of shards' }).fill('8');
      const gentle = page.getByRole('row').filter({ hasText: 'gentle' });
      await expect(gentle).toContainText(/about \d/);
      await gentle.scrollIntoViewIfNeeded();
    },
  },
];

for (const { name, slow, bothThemes, path, open } of OVERLAYS) {
  test(name, { tag: slow ? '@slow' : [] }, async ({ page }) => {
    await page.goto(path(stackInfo().bdb));
    await expect(new Frame(page).main.getByRole('heading', { level: 1 })).toBeVisible();
    await open(page);
    await examine(page, name, { bothThemes });
  });
}

test('form with validation errors', async ({ page }) => {
  await page.goto('/databases/new');
  await page.getByRole('button', { name: 'Add tag' }).click();
  await page.getByRole('main').getByLabel('Port', { exact: true }).fill('1');
  await page.getByRole('button', { name: 'Create database' }).click();
  await expect(page.getByText('Correct the marked fields')).toBeVisible();
  await examine(page, 'create-mistakes');
});

test.describe('signed out', () => {
  test.use({ storageState: SIGNED_OUT });

  test('login', async ({ page }) => {
    await page.goto('/login');
    await expect(page.getByRole('button', { name: 'Sign in' })).toBeVisible();
    await examine(page, 'login');
    await page.getByRole('textbox', { name: 'User' }).fill('nobody');
    await page.getByRole('textbox', { name: 'Password' }).fill('wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await expect(page.getByRole('alert')).toBeVisible();
    await examine(page, 'login-refused', { bothThemes: true });
  });
});

test('empty cluster', { tag: '@slow' }, async ({ browser }) => {
  const { url, user, password } = await stack.startEmpty();
  const session = await signIn(url, user, password);
  const context = await browser.newContext({ baseURL: url, storageState: session });
  const page = await context.newPage();
  await page.goto('/');
  await expect(page.getByText('No databases yet')).toBeVisible();
  await examine(page, 'empty-overview');
  await page.goto('/databases');
  await expect(page.getByText('No databases yet')).toBeVisible();
  await examine(page, 'empty-databases');
  await page.goto('/nodes');
  await expect(page.getByText('No node has joined yet')).toBeVisible();
  await examine(page, 'empty-nodes');
  await page.goto('/databases/new');
  await expect(page.getByText('No node with a connected agent accepts shards')).toBeVisible();
  await examine(page, 'empty-create');
  await context.close();
});
