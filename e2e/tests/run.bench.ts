/** The page of a run while it goes on, against a stack that somebody else keeps running; written to results-run.json. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Browser, type BrowserContext, chromium, type Page } from '@playwright/test';
import { expect, test } from '../fixtures.ts';

const RESULTS = new URL('../results-run.json', import.meta.url).pathname;
const SECONDS = Number(process.env.SHARDBOARD_BENCH_RUN_SECONDS);
const LOOKS = 12;
const CHARTS = 6;

test('a run, second by second', async ({ baseURL, launchOptions, session, viewport }) => {
  test.setTimeout((SECONDS + 240) * 1000);
  const path = `/benchmarks/${process.env.SHARDBOARD_BENCH_RUN}`;
  const size = `--window-size=${viewport?.width},${viewport?.height}`;
  const options = [...(launchOptions.args ?? []), size];
  await using alone = await openAlone(launchOptions.executablePath ?? 'chromium', options);
  await alone.visit(async (_, page) => {
    await page.context().addCookies(session.cookies);
    await page.goto(`${baseURL}${path}`);
    await expect.poll(() => page.locator('canvas').count()).toBeGreaterThanOrEqual(CHARTS);
  });
  const looks = [await alone.visit(look)];
  for (let index = 0; index < LOOKS; index += 1) {
    await sleep((SECONDS / LOOKS) * 1000);
    looks.push(await alone.visit(look));
  }
  const charts = await alone.visit(async (_, page) => {
    await expect(page.getByText('running', { exact: true })).toBeVisible();
    return page.locator('canvas').count();
  });
  writeFileSync(RESULTS, `${JSON.stringify({ seconds: SECONDS, charts, looks }, null, 2)}\n`);
});

/**
 * A browser that nobody is attached to but for a moment: whoever is makes it keep all that the network brings, up to 100 MB
 * for each page, which no page of a person has.
 */
async function openAlone(executable: string, options: readonly string[]) {
  const profile = mkdtempSync(join(tmpdir(), 'shardboard-browser-'));
  const args = ['--headless=new', '--remote-debugging-port=0', `--user-data-dir=${profile}`];
  const stdio = ['ignore', 'ignore', 'pipe'] as const;
  const child = spawn(executable, [...args, ...options, 'about:blank'], { stdio: [...stdio] });
  // Not `exit`: its child processes, which share standard error, still write to the profile then.
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
  let address: string | undefined;
  for await (const line of createInterface(child.stderr)) {
    address = /^DevTools listening on (ws:.*)$/.exec(line)?.[1];
    if (address) break;
  }
  const close = async () => {
    child.kill();
    await ended;
    rmSync(profile, { recursive: true, force: true });
  };
  if (!address) {
    await close();
    throw new Error(`${executable} did not start`);
  }
  const endpoint = address;
  child.stderr.resume();
  const visit = async <T>(what: (browser: Browser, page: Page) => Promise<T>): Promise<T> => {
    const browser = await chromium.connectOverCDP(endpoint);
    const [context] = browser.contexts() as [BrowserContext];
    const result = await what(browser, context.pages()[0] ?? (await context.newPage()));
    await browser.close(); // leaves it running
    return result;
  };
  return { visit, [Symbol.asyncDispose]: close };
}

/** MB: what JavaScript has in use after a collection of garbage, and all memory of the process that draws the page. */
async function look(browser: Browser, page: Page) {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Performance.enable');
  await devtools.send('HeapProfiler.collectGarbage');
  const { metrics } = await devtools.send('Performance.getMetrics');
  const heap = metrics.find(({ name }) => name === 'JSHeapUsedSize')?.value ?? Number.NaN;
  return { heap_mb: heap / 1e6, process_mb: await drawing(browser) };
}

/** Of the largest one: pages that are kept ready for later have processes, too. */
async function drawing(browser: Browser): Promise<number> {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send('SystemInfo.getProcessInfo');
  await session.detach();
  const sizes = processInfo.filter(({ type }) => type === 'renderer').map(({ id }) => share(id));
  return Math.max(...sizes);
}

/** Memory of a process, with its part of what it shares with others. */
function share(pid: number): number {
  const told = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  return (Number(/^Pss:\s+(\d+) kB/m.exec(told)?.[1]) * 1024) / 1e6;
}
