/** Benchmark of the web UI with hundreds of shards, against a running stack. Results are written to results-many.json. */
import { writeFileSync } from 'node:fs';
import type { CDPSession, Page } from '@playwright/test';
import { expect, test } from '../../fixtures.ts';
import { stackInfo } from '../../stack.ts';

const RESULTS = new URL('../../results-many.json', import.meta.url).pathname;
/** Run as briefly as possible, to check that the benchmark works. */
const SMOKE = process.env.SHARDBOARD_BENCH_SMOKE === '1';
const SECONDS = Number(process.env.SHARDBOARD_BENCH_SECONDS ?? (SMOKE ? 3 : 600));
const LOADS = SMOKE ? 1 : 5;
/** Time until lazy modules, fonts and the first history are loaded. */
const WARM_UP_MS = SMOKE ? 2_000 : 20_000;

declare global {
  interface Window {
    firstPaint?: number;
  }
}

const PAGES = {
  placement: ['shards', 'button[data-shard]'],
  charts: ['metrics?by=shards', 'canvas'],
} as const;

// Recording would be part of the measured work.
test.use({ trace: 'off' });

test('placement and charts of many shards', async ({ context }) => {
  test.setTimeout((SECONDS + 240) * 1000);
  const results: Record<string, unknown> = {};
  const opened = [];
  for (const [name, [path, selector]] of Object.entries(PAGES)) {
    const page = await context.newPage();
    const address = `/databases/${stackInfo().bdb}/${path}`;
    await page.addInitScript(noteFirstPaint, selector);
    const paints: number[] = [];
    for (let load = 0; load < LOADS; load += 1) {
      paints.push(await firstPaint(page, address));
    }
    opened.push({ name, page, first_paint_ms: part(paints, 0.5) });
  }
  // Measure both at the same time, because each page has a separate main thread.
  await Promise.all(
    opened.map(async ({ name, page, ...found }) => {
      results[name] = { ...found, ...(await watched(page)) };
    }),
  );
  writeFileSync(RESULTS, `${JSON.stringify(results, null, 2)}\n`);
});

async function watched(page: Page): Promise<Record<string, unknown>> {
  const devtools = await page.context().newCDPSession(page);
  // Measure processor time, which excludes other work of the machine.
  await devtools.send('Performance.enable', { timeDomain: 'threadTicks' });
  await page.waitForTimeout(WARM_UP_MS);
  const before = await heap(devtools);
  const updates = await tasks(devtools, page);
  expect(updates.length).toBe(SECONDS);
  return {
    seconds: SECONDS,
    main_thread_ms_per_second: { p50: part(updates, 0.5), p95: part(updates, 0.95) },
    heap_mb: { before, after: await heap(devtools) },
  };
}

/** Return the milliseconds from the start of the navigation until the shards are painted. */
async function firstPaint(page: Page, path: string): Promise<number> {
  await page.goto('about:blank');
  await page.goto(path);
  // The document measures itself, because a query during the navigation could reach the previous document.
  const painted = await page.waitForFunction(() => window.firstPaint);
  return (await painted.jsonValue()) as number;
}

/** Runs in each document from its start. */
async function noteFirstPaint(selector: string): Promise<void> {
  while (!document.querySelector(selector)) await new Promise(requestAnimationFrame);
  await new Promise((painted) => requestAnimationFrame(() => setTimeout(painted)));
  window.firstPaint = performance.now();
}

/** Return the work of the main thread in each second in milliseconds. */
async function tasks(devtools: CDPSession, page: Page): Promise<number[]> {
  const found: number[] = [];
  let last = await metric(devtools, 'TaskDuration');
  for (let second = 0; second < SECONDS; second += 1) {
    await page.waitForTimeout(1000);
    const now = await metric(devtools, 'TaskDuration');
    found.push((now - last) * 1000);
    last = now;
  }
  return found;
}

/** Return the heap size in MB after a garbage collection. */
async function heap(devtools: CDPSession): Promise<number> {
  await devtools.send('HeapProfiler.collectGarbage');
  return Math.round((await metric(devtools, 'JSHeapUsedSize')) / 1e5) / 10;
}

async function metric(devtools: CDPSession, name: string): Promise<number> {
  const { metrics } = await devtools.send('Performance.getMetrics');
  return metrics.find((entry) => entry.name === name)?.value ?? Number.NaN;
}

function part(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const found = sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
  return Math.round(found * 10) / 10;
}
