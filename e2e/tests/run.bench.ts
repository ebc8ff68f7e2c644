/** The page of a run while it goes on, against a stack that somebody else keeps running; written to results-run.json. */
import { readFileSync, writeFileSync } from 'node:fs';
import type { Browser, CDPSession } from '@playwright/test';
import { expect, test } from '../fixtures.ts';

const RESULTS = new URL('../results-run.json', import.meta.url).pathname;
const SECONDS = Number(process.env.SHARDBOARD_BENCH_RUN_SECONDS);
const LOOKS = 12;
const CHARTS = 6;

// Recording what happened takes memory, too.
test.use({ trace: 'off' });

test('a run, second by second', async ({ page, browser }) => {
  test.setTimeout((SECONDS + 240) * 1000);
  await page.goto(`/benchmarks/${process.env.SHARDBOARD_BENCH_RUN}`);
  await expect.poll(() => page.locator('canvas').count()).toBeGreaterThanOrEqual(CHARTS);
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Performance.enable');
  const looks = [await look(browser, devtools)];
  for (let index = 0; index < LOOKS; index += 1) {
    await page.waitForTimeout((SECONDS / LOOKS) * 1000);
    looks.push(await look(browser, devtools));
  }
  const charts = await page.locator('canvas').count();
  await expect(page.getByText('running', { exact: true })).toBeVisible();
  writeFileSync(RESULTS, `${JSON.stringify({ seconds: SECONDS, charts, looks }, null, 2)}\n`);
});

/** MB: what JavaScript has in use after a collection of garbage, and all memory of the process that draws the page. */
async function look(browser: Browser, devtools: CDPSession) {
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
