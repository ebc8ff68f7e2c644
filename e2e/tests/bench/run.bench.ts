/** Memory of the page of a running benchmark, against a running stack. Results are written to results-run.json. */
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Browser, type BrowserContext, chromium, type Page } from '@playwright/test';
import { expect, test } from '../../fixtures.ts';

const RESULTS = new URL('../../results-run.json', import.meta.url).pathname;
const SECONDS = Number(process.env.SHARDBOARD_BENCH_RUN_SECONDS);
const SNAPSHOTS = 12;
const CHARTS = 6;

test('memory of the page of a running benchmark', async ({
  baseURL,
  launchOptions,
  session,
  viewport,
}) => {
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
  const snapshots = [await alone.visit(snapshot)];
  for (let index = 0; index < SNAPSHOTS; index += 1) {
    await sleep((SECONDS / SNAPSHOTS) * 1000);
    snapshots.push(await alone.visit(snapshot));
  }
  const charts = await alone.visit(async (_, page) => {
    await expect(page.getByText('running', { exact: true })).toBeVisible();
    return page.locator('canvas').count();
  });
  writeFileSync(
    RESULTS,
    `${JSON.stringify({ seconds: SECONDS, charts, looks: snapshots }, null, 2)}\n`,
  );
});

/**
 * Start a browser to which Playwright connects only briefly. While it is connected, the browser keeps up to 100 MB of network
 * data per page, which would distort the measurement.
 */
async function openAlone(executable: string, options: readonly string[]) {
  const profile = mkdtempSync(join(tmpdir(), 'shardboard-browser-'));
  const args = ['--headless=new', '--remote-debugging-port=0', `--user-data-dir=${profile}`];
  const stdio = ['ignore', 'ignore', 'pipe'] as const;
  const child = spawn(executable, [...args, ...options, 'about:blank'], { stdio: [...stdio] });
  // Not `exit`: child processes, which share standard error, can still write to the profile then.
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
    await browser.close(); // only disconnects
    return result;
  };
  return { visit, [Symbol.asyncDispose]: close };
}

/** Return the JavaScript heap after a garbage collection and the memory of the page's process, both in MB. */
async function snapshot(browser: Browser, page: Page) {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Performance.enable');
  await devtools.send('HeapProfiler.collectGarbage');
  const { metrics } = await devtools.send('Performance.getMetrics');
  const heap = metrics.find(({ name }) => name === 'JSHeapUsedSize')?.value ?? Number.NaN;
  return { heap_mb: heap / 1e6, process_mb: await drawing(browser) };
}

/** Return the memory of the largest renderer process, because spare renderers have processes, too. */
async function drawing(browser: Browser): Promise<number> {
  const session = await browser.newBrowserCDPSession();
  const { processInfo } = await session.send('SystemInfo.getProcessInfo');
  await session.detach();
  const sizes = processInfo.filter(({ type }) => type === 'renderer').map(({ id }) => share(id));
  return Math.max(...sizes);
}

/** Return the proportional set size of a process in MB. */
function share(pid: number): number {
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  return (Number(/^Pss:\s+(\d+) kB/m.exec(rollup)?.[1]) * 1024) / 1e6;
}
