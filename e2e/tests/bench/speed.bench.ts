/** Measures the speed of the web UI. Results are written to results.json; there are no assertions about time. */
import { writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import type { Browser, BrowserContextOptions, Page } from '@playwright/test';
import { SIGNED_OUT, test } from '../../fixtures.ts';

const RESULTS = new URL('../../results.json', import.meta.url).pathname;
/** Run as briefly as possible, to check that the benchmark works. */
const SMOKE = process.env.SHARDBOARD_BENCH_SMOKE === '1';
const SAMPLES = SMOKE ? 3 : 60;
const LOADS = SMOKE ? 1 : 5;
/** Time without long tasks after which the page counts as responsive. */
const QUIET_MS = 500;

/** Milliseconds. */
interface Age {
  /** From the end of the agent's poll of its shards to the end of the page's handler. */
  handled: number;
  /** From the end of the agent's poll to the next painted frame. */
  painted: number;
  /** From the start of the sampled second, when the agents start to poll, to the end of the handler. */
  since_second: number;
}

interface Load {
  /** Milliseconds from the start of the navigation. */
  ready: number;
  interactive: number;
  /** Transferred size of JavaScript, and its size with gzip. */
  scriptBytes: number;
  scriptGzipBytes: number;
}

interface Interactive {
  ready: number;
  interactive: number;
}

declare global {
  interface Window {
    interactive?: Interactive;
    sampleAges: Age[];
    longTaskEnds: number[];
  }
}

const results: Record<string, unknown> = {};

test.afterAll(() => writeFileSync(RESULTS, `${JSON.stringify(results, null, 2)}\n`));

test('age of a sample when the page has handled it', async ({ page }) => {
  await page.addInitScript(timeSamples);
  await page.goto('/');
  const handle = await page.waitForFunction(
    (count) => window.sampleAges.length >= count && window.sampleAges,
    SAMPLES,
    { timeout: 150_000 },
  );
  const ages = ((await handle.jsonValue()) as Age[]).slice(0, SAMPLES);
  const summary = (values: number[]) => ({
    p50: percentile(values, 0.5),
    p99: percentile(values, 0.99),
  });
  results.sample_age_ms = {
    samples: ages.length,
    handled: summary(ages.map(({ handled }) => handled)),
    painted: summary(ages.map(({ painted }) => painted)),
    since_second: summary(ages.map(({ since_second }) => since_second)),
  };
});

test('first view of the login page', async ({ browser, baseURL }) => {
  results.login = await firstView(browser, { baseURL, storageState: SIGNED_OUT }, '/login', 'form');
});

test('first view of the overview', async ({ browser, baseURL, session }) => {
  const options = { baseURL, storageState: session };
  results.overview = await firstView(browser, options, '/', 'main table td');
});

/** Return the medians of several loads, each in a browser with an empty cache. */
async function firstView(
  browser: Browser,
  options: BrowserContextOptions,
  path: string,
  selector: string,
): Promise<Record<string, number>> {
  const loads: Load[] = [];
  for (let load = 0; load < LOADS; load += 1) {
    const context = await browser.newContext(options);
    const page = await context.newPage();
    loads.push(await measureLoad(page, path, selector));
    await context.close();
  }
  return {
    loads: LOADS,
    ready_ms: percentile(
      loads.map(({ ready }) => ready),
      0.5,
    ),
    interactive_ms: percentile(
      loads.map(({ interactive }) => interactive),
      0.5,
    ),
    script_bytes: Math.max(...loads.map(({ scriptBytes }) => scriptBytes)),
    script_gzip_bytes: Math.max(...loads.map(({ scriptGzipBytes }) => scriptGzipBytes)),
  };
}

async function measureLoad(page: Page, path: string, selector: string): Promise<Load> {
  const scripts = new Set<string>();
  let scriptBytes = 0;
  const network = await page.context().newCDPSession(page);
  network.on('Network.responseReceived', ({ requestId, type }) => {
    if (type === 'Script') scripts.add(requestId);
  });
  network.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
    if (scripts.has(requestId)) scriptBytes += encodedDataLength;
  });
  await network.send('Network.enable');
  const bodies: Promise<Buffer>[] = [];
  page.on('response', (response) => {
    if (response.request().resourceType() === 'script') bodies.push(response.body());
  });
  await page.addInitScript(noteLongTasks);
  await page.addInitScript(untilInteractive, { selector, quiet: QUIET_MS });
  await page.goto(path);
  // The document measures itself, because a query during the navigation could reach the previous document.
  const measured = await page.waitForFunction(() => window.interactive);
  const { ready, interactive } = (await measured.jsonValue()) as Interactive;
  const scriptGzipBytes = (await Promise.all(bodies))
    .map((body) => gzipSync(body).length)
    .reduce((sum, length) => sum + length, 0);
  return { ready, interactive, scriptBytes, scriptGzipBytes };
}

function percentile(values: number[], part: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return Math.round(sorted[Math.max(0, Math.ceil(sorted.length * part) - 1)] ?? Number.NaN);
}

/** Runs in the page: measures the handler that the page registers for cluster samples. */
function timeSamples(): void {
  type Listener = (event: MessageEvent<string>) => void;
  window.sampleAges = [];
  const register = EventSource.prototype.addEventListener as (type: string, run: Listener) => void;
  const timed = (listener: Listener) => (event: MessageEvent<string>) => {
    listener(event);
    const { topic, t, at } = JSON.parse(event.data);
    if (topic !== 'cluster') return;
    const now = Date.now();
    const age = { handled: now - at, since_second: now - t * 1000 };
    requestAnimationFrame(() =>
      setTimeout(() => window.sampleAges.push({ ...age, painted: Date.now() - at })),
    );
  };
  Object.assign(EventSource.prototype, {
    addEventListener(this: EventSource, type: string, listener: Listener) {
      register.call(this, type, type === 'sample' ? timed(listener) : listener);
    },
  });
}

/** Runs in the page. */
function noteLongTasks(): void {
  window.longTaskEnds = [];
  new PerformanceObserver((list) => {
    for (const { startTime, duration } of list.getEntries()) {
      window.longTaskEnds.push(startTime + duration);
    }
  }).observe({ type: 'longtask', buffered: true });
}

/** Runs in the page: records when `selector` exists, and when no long task has followed for `quiet` milliseconds. */
async function untilInteractive({ selector, quiet }: { selector: string; quiet: number }) {
  while (!document.querySelector(selector)) await new Promise(requestAnimationFrame);
  const ready = performance.now();
  let interactive = ready;
  while (performance.now() - interactive < quiet) {
    await new Promise((done) => setTimeout(done, 50));
    interactive = Math.max(interactive, window.longTaskEnds.at(-1) ?? 0);
  }
  window.interactive = { ready, interactive };
}
