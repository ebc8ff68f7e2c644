/** What every test gets: the address of the stack, a signed-in browser, the REST API, and an eye on the page's errors. */
import { type APIRequestContext, test as base, expect, request } from '@playwright/test';
import { removeAllElse } from './rest.ts';
import { stackInfo } from './stack.ts';

type Session = Awaited<ReturnType<APIRequestContext['storageState']>>;

interface TestFixtures {
  /** The REST API as a script sees it, with the administrator's credentials. */
  api: APIRequestContext;
  /** Fails the test when the page throws or logs an error. */
  pageErrors: string[];
  /** Removes what a test has made, however it ended: a second chance, and the tests after it, find what the first found. */
  cleanUp: undefined;
}

interface WorkerFixtures {
  session: Session;
}

/** Logs in over REST, for tests that are not about logging in. */
export async function signIn(url: string, user: string, password: string): Promise<Session> {
  const context = await request.newContext({ baseURL: url });
  const reply = await context.post('/v1/session', { data: { username: user, password } });
  if (!reply.ok()) throw new Error(`cannot log in: ${reply.status()} ${await reply.text()}`);
  const session = await context.storageState();
  await context.dispose();
  return session;
}

/** What the browser itself says of requests that failed: expected in tests that break things. */
const NETWORK = /Failed to load resource|net::ERR_/;

export const test = base.extend<TestFixtures, WorkerFixtures>({
  session: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the pattern
    async ({}, use) => {
      const { url, user, password } = stackInfo();
      await use(await signIn(url, user, password));
    },
    { scope: 'worker' },
  ],
  // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the pattern
  baseURL: async ({}, use) => use(stackInfo().url),
  storageState: async ({ session }, use) => use(session),
  api: async ({ baseURL }, use) => {
    const { user, password } = stackInfo();
    const login = Buffer.from(`${user}:${password}`).toString('base64');
    const context = await request.newContext({
      ...(baseURL ? { baseURL } : {}),
      extraHTTPHeaders: { Authorization: `Basic ${login}` },
    });
    await use(context);
    await context.dispose();
  },
  pageErrors: [
    async ({ page }, use) => {
      const errors: string[] = [];
      page.on('pageerror', (error) => errors.push(error.message));
      page.on('console', (message) => {
        if (message.type() === 'error' && !NETWORK.test(message.text())) {
          errors.push(message.text());
        }
      });
      await use(errors);
      expect(errors, 'errors of the page').toEqual([]);
    },
    { auto: true },
  ],
  cleanUp: [
    async ({ api }, use) => {
      await use(undefined);
      await removeAllElse(api, stackInfo().bdb);
    },
    { auto: true, timeout: 120_000 },
  ],
});

/** A browser that nobody has signed in with. */
export const SIGNED_OUT = { cookies: [], origins: [] };

export { expect };
