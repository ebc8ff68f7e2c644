/** Fixtures of all tests: the address of the stack, a signed-in browser, the REST API, and a check for errors of the page. */
import { type APIRequestContext, test as base, expect, request } from '@playwright/test';
import { cleanUpCluster } from './rest.ts';
import { stackInfo } from './stack.ts';

type Session = Awaited<ReturnType<APIRequestContext['storageState']>>;

interface TestFixtures {
  /** REST API client with the administrator's credentials. */
  api: APIRequestContext;
  /** Fails the test if the page throws or logs an error. */
  pageErrors: string[];
  /** Removes all objects that a test has created, also after a failure, so that a retry and later tests start from the same state. */
  cleanUp: undefined;
}

interface WorkerFixtures {
  session: Session;
}

/** Sign in with the REST API, for tests whose subject is not the sign-in page. */
export async function signIn(url: string, user: string, password: string): Promise<Session> {
  const context = await request.newContext({ baseURL: url });
  const reply = await context.post('/v1/session', { data: { username: user, password } });
  if (!reply.ok()) throw new Error(`cannot sign in: ${reply.status()} ${await reply.text()}`);
  const session = await context.storageState();
  await context.dispose();
  return session;
}

/** Messages of the browser about failed requests. They are expected in tests that cause failures. */
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
      await cleanUpCluster(api, stackInfo().bdb);
    },
    { auto: true, timeout: 120_000 },
  ],
});

/** Storage state of a browser without a session. */
export const SIGNED_OUT = { cookies: [], origins: [] };

export { expect };
