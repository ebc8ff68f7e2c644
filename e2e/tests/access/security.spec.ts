/** Attacks through the browser: scripts in names, pages of other sites that embed the web UI or send requests to it, redirects. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { APIRequestContext, Frame as BrowserFrame, Page } from '@playwright/test';
import { expect, SIGNED_OUT, test } from '../../fixtures.ts';
import { Frame } from '../../pages/frame.ts';
import { LoginPage } from '../../pages/login.ts';
import { stackInfo } from '../../stack.ts';

/** Runs a script if any page inserts it as HTML, and marks the inserted elements. */
const HTML = '"><img data-xss src=x onerror=xss()>';
/** Names that a page could treat as HTML, a URL, a template or a property. */
const NAMES = [
  HTML,
  "'><script data-xss>xss()</script>",
  '<a data-xss href="javascript:xss()">',
  'javascript:xss()',
  '__proto__',
  '{{constructor.constructor("xss()")()}}',
];
const PAGES = [
  '/',
  '/cluster/metrics',
  '/databases',
  '/databases/new',
  '/databases/1/metrics',
  '/databases/1/shards',
  '/databases/1/endpoint',
  '/databases/1/configuration',
  '/databases/1/events',
  '/nodes',
  '/nodes/1',
  '/benchmarks',
  '/benchmarks/new',
  '/activity/timeline',
  '/activity/incidents',
  '/activity/alarms',
  '/activity/events?span=all',
  '/activity/actions',
  '/activity/audit',
  '/settings',
  '/device',
];
/** Fields of replies whose values come from users, nodes or engines. */
const HOSTILE_FIELDS = new Set(
  'description message detail originator hostname os_name os_family email username rack_id status_detail software_version value'.split(
    ' ',
  ),
);
/** Objects whose field `name` is chosen by users. The names of other objects are constants. */
const NAMED_OBJECTS =
  /^\/v1\/(bdbs|roles|redis_acls|users|webhooks|service_tokens|benchmarks|ldap_mappings)\b/;

/** Record calls of the function that the attacks try to run. */
async function watchForScripts(page: Page): Promise<string[]> {
  const calls: string[] = [];
  await page.exposeFunction('xss', () => calls.push(page.url()));
  return calls;
}

/** Open each page, and check that hostile texts are shown as text. */
async function checkPages(page: Page, calls: string[]): Promise<void> {
  for (const path of PAGES) {
    await page.goto(path);
    await expect(page.getByRole('main')).toBeVisible();
    await expect(page.getByRole('main').getByRole('heading').first()).toBeVisible();
    await page.waitForLoadState('load');
    await checkDocument(page, calls, path);
  }
}

async function checkDocument(page: Page, calls: string[], where: string): Promise<void> {
  expect(await page.locator('[data-xss]').count(), `inserted elements of ${where}`).toBe(0);
  const targets = await page
    .locator('[href], [src], [action], [formaction]')
    .evaluateAll((found) =>
      found.flatMap((each) =>
        ['href', 'src', 'action', 'formaction'].map((name) => each.getAttribute(name) ?? ''),
      ),
    );
  expect(
    targets.filter((target) => /^\s*(javascript|vbscript):|^\s*data:text\/html/i.test(target)),
    where,
  ).toEqual([]);
  expect(calls, where).toEqual([]);
}

test('scripts that a page inserts do not run and count as errors', async ({ page, pageErrors }) => {
  const calls = await watchForScripts(page);
  await page.goto('/');
  await expect(page.getByRole('main')).toBeVisible();
  await page.evaluate((html) => {
    document.body.insertAdjacentHTML('beforeend', html);
    document.body.append(Object.assign(document.createElement('script'), { textContent: 'xss()' }));
  }, HTML);
  await expect
    .poll(() => pageErrors.filter((text) => /Content Security Policy/i.test(text)).length)
    .toBeGreaterThan(1);
  expect(await page.locator('[data-xss]').count()).toBeGreaterThan(0);
  expect(calls).toEqual([]);
  pageErrors.length = 0;
});

test('hostile names of users, roles, receivers and tokens are shown as text', {
  tag: '@slow',
}, async ({ page, api, playwright, baseURL }) => {
  const calls = await watchForScripts(page);
  for (const [index, name] of NAMES.entries()) {
    for (const [path, data] of [
      ['users', { email: `u${index}@example.org`, name, password: 'long enough', role: 'none' }],
      ['redis_acls', { name, acl: '+@read ~<script/data-xss>*' }],
      ['roles', { name, management: 'none' }],
      ['webhooks', { name, url: `http://127.0.0.1:9/?${encodeURIComponent(name)}` }],
      ['service_tokens', { name, role: 'cluster_viewer' }],
    ] as const) {
      const reply = await api.post(`/v1/${path}`, { data });
      // A name that is refused cannot be shown.
      expect(reply.status(), await reply.text()).toBeLessThan(
        index || path === 'users' ? 500 : 300,
      );
    }
    const tags = { tags: [{ key: 'k', value: name }] };
    expect((await api.put('/v1/bdbs/1', { data: tags })).status()).toBeLessThan(500);
    // The claimed name is part of an event and of the audit log.
    const unknownUser = await playwright.request.newContext({ ...(baseURL && { baseURL }) });
    const login = { username: name, password: 'wrong password' };
    expect((await unknownUser.post('/v1/session', { data: login })).status()).toBe(401);
    await unknownUser.dispose();
  }
  await checkPages(page, calls);
  await page.goto('/settings#users');
  await expect(page.getByRole('main').getByText(HTML).first()).toBeVisible();
  await page.goto('/settings#notifications');
  await expect(page.getByRole('main').getByText(HTML).first()).toBeVisible();
  await page.goto('/activity/events?span=all');
  await expect(page.getByRole('main').getByText('data-xss').first()).toBeVisible();
  await checkDocument(page, calls, '/activity/events');
  await api.put('/v1/bdbs/1', { data: { tags: [] } });
});

test('hostile texts from nodes and engines are shown as text', { tag: '@slow' }, async ({
  page,
}) => {
  const calls = await watchForScripts(page);
  await page.route('**/v1/stream**', (route) => route.abort());
  await page.route('**/v1/**', async (route) => {
    const path = new URL(route.request().url()).pathname;
    if (route.request().method() !== 'GET' || path === '/v1/stream') return route.fallback();
    const response = await route.fetch();
    if (!response.headers()['content-type']?.includes('json')) return route.fulfill({ response });
    return route.fulfill({ response, json: hostile(await response.json(), path) });
  });
  await checkPages(page, calls);
  for (const path of ['/nodes', '/databases', '/activity/events?span=all', '/settings']) {
    await page.goto(path);
    // Options of a closed list are not visible.
    const shown = page.getByText('data-xss').filter({ visible: true });
    await expect(shown.first(), path).toBeVisible();
  }
});

/** Return a reply in which all texts that users, nodes or engines choose contain a script. */
function hostile(value: unknown, path: string): unknown {
  if (Array.isArray(value)) return value.map((each) => hostile(each, path));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => {
      const isHostile = HOSTILE_FIELDS.has(name) || (name === 'name' && NAMED_OBJECTS.test(path));
      return [
        name,
        isHostile && typeof each === 'string' ? `${each} ${HTML}` : hostile(each, path),
      ];
    }),
  );
}

/** A web server of another site. */
class OtherSite {
  html = '';
  private readonly server: Server = createServer((_request, response) => {
    response.writeHead(200, { 'Content-Type': 'text/html' }).end(this.html);
  });

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/`;
  }

  close(): void {
    this.server.closeAllConnections();
    this.server.close();
  }
}

/** Returns the number of web UIs in a frame. A browser may remove a frame that it does not load. */
async function countRoots(frame: BrowserFrame): Promise<number> {
  try {
    return await frame.locator('#root').count();
  } catch (error) {
    if (frame.isDetached()) return 0;
    throw error;
  }
}

test.describe('pages of other sites', () => {
  test.use({ ignoreHTTPSErrors: true });

  test('the web UI cannot be embedded', async ({ page, pageErrors }) => {
    const site = new OtherSite();
    const { url, https_url } = stackInfo();
    const refusals = () =>
      pageErrors.filter((text) => /frame-ancestors|X-Frame-Options/i.test(text));
    try {
      const address = await site.listen();
      for (const target of [`${url}/`, `${https_url}/login`]) {
        for (const [element, attribute] of [
          ['iframe', 'src'],
          ['object', 'data'],
          ['embed', 'src'],
        ]) {
          pageErrors.length = 0;
          site.html = `<${element} ${attribute}="${target}" type="text/html"></${element}>`;
          await page.goto(address, { waitUntil: 'commit' });
          await expect
            .poll(() => refusals().length, { message: `${element} ${target}` })
            .toBeGreaterThan(0);
          for (const frame of page.frames().slice(1)) {
            expect(await countRoots(frame)).toBe(0);
          }
        }
      }
      // The web UI cannot embed itself either.
      await page.goto('/');
      await expect(page.getByRole('main')).toBeVisible();
      pageErrors.length = 0;
      await page.evaluate(() => {
        document.body.append(Object.assign(document.createElement('iframe'), { src: '/login' }));
      });
      await expect.poll(() => refusals().length).toBeGreaterThan(0);
    } finally {
      pageErrors.length = 0;
      site.close();
    }
  });

  test('requests of other sites have no session and cannot read replies', async ({
    page,
    api,
    pageErrors,
  }) => {
    const site = new OtherSite();
    const { url } = stackInfo();
    try {
      const address = await site.listen();
      site.html = '<title>other</title>';
      await page.goto(address);
      const outcomes = await page.evaluate(async (target) => {
        const attempt = async (path: string, options: RequestInit) => {
          try {
            const reply = await fetch(target + path, { credentials: 'include', ...options });
            return `${reply.type} ${reply.status} ${(await reply.text()).length}`;
          } catch {
            return 'refused';
          }
        };
        const json = { 'Content-Type': 'application/json', 'X-Requested-With': 'shardboard' };
        return Promise.all([
          attempt('/v1/users', {}),
          attempt('/v1/users', { mode: 'no-cors' }),
          attempt('/v1/join_tokens', { method: 'POST', headers: json, body: '{}' }),
          attempt('/v1/join_tokens', { method: 'POST', mode: 'no-cors', body: '{}' }),
        ]);
      }, url);
      expect(outcomes).toEqual(['refused', 'refused', 'refused', 'refused']);
      const before = await joinTokens(api);
      site.html = `<form method=post action="${url}/v1/join_tokens"><button>Send</button></form>`;
      await page.goto(address);
      const reply = page.waitForResponse(`${url}/v1/join_tokens`);
      await page.getByRole('button', { name: 'Send' }).click();
      expect([401, 403]).toContain((await reply).status());
      expect(await joinTokens(api)).toBe(before);
    } finally {
      pageErrors.length = 0;
      site.close();
    }
  });

  test('other sites have no access to a window of the web UI', async ({
    page,
    context,
    pageErrors,
  }) => {
    const site = new OtherSite();
    const { url } = stackInfo();
    try {
      site.html = `<button onclick="opened = window.open('${url}/')">Open</button>`;
      await page.goto(await site.listen());
      const opening = context.waitForEvent('page');
      await page.getByRole('button', { name: 'Open' }).click();
      const opened = await opening;
      await expect(opened.getByRole('main')).toBeVisible();
      expect(await opened.evaluate(() => window.opener)).toBeNull();
      expect(await page.evaluate('opened.closed')).toBe(true);
    } finally {
      pageErrors.length = 0;
      site.close();
    }
  });
});

async function joinTokens(api: APIRequestContext): Promise<number> {
  const log = (await (await api.get('/v1/logs')).json()) as { type: string }[];
  return log.filter(({ type }) => type.includes('join_token')).length;
}

test.describe('signing in', () => {
  test.use({ storageState: SIGNED_OUT });

  for (const next of [
    '//evil.example',
    '/\\evil.example',
    '/\t/evil.example',
    '/\n//evil.example',
    'https://evil.example',
    'javascript:xss()',
  ]) {
    // Without the slow ones, the address that the browser changes most.
    const tag = next === '/\n//evil.example' ? [] : '@slow';
    test(`signing in never leads to ${JSON.stringify(next)}`, { tag }, async ({
      page,
      baseURL,
    }) => {
      const calls = await watchForScripts(page);
      const { user, password } = stackInfo();
      await page.goto(`/login?next=${encodeURIComponent(next)}`);
      await new LoginPage(page).signIn(user, password);
      await expect(new Frame(page).main).toBeVisible();
      expect(new URL(page.url()).origin).toBe(new URL(baseURL ?? '').origin);
      expect(calls).toEqual([]);
    });
  }
});
