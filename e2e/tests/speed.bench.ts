/** The speed of the page in numbers, written to results.json; nothing is asserted about time here. */
import { writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import type { Browser, BrowserContextOptions, Page } from '@playwright/test';
import { SIGNED_OUT, test } from '../fixtures.ts';

const RESULTS = new URL('../results.json', import.meta.url).pathname;
/** As little as shows that it works. */
const SMOKE = process.env.SHARDBOARD_BENCH_SMOKE === '1';
const SAMPLES = SMOKE ? 3 : 60;
const LOADS = SMOKE ? 1 : 5;
/** No long task for so long: nothing keeps the page from answering. */
const QUIET_MS = 500;

/** Milliseconds. */
interface Age {
  /** From the end of the agent's look at its shards to the end of the page's own handler. */
  handled: number;
  /** The same to the next painted frame. */
  painted: number;
  /** From the start of the sampled second, when the agents begin to look, to the end of the handler. */
  since_second: number;
}

interface Load {
  /** Milliseconds from the start of the navigation. */
  ready: number;
  interactive: number;
  /** JavaScript as it came over the wire, and as gzip would make it. */
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
  const told = await page.waitForFunction(
    (wanted) => window.sampleAges.length >= wanted && window.sampleAges,
    SAMPLES,
    { timeout: 150_000 },
  );
  const ages = ((await told.jsonValue()) as Age[]).slice(0, SAMPLES);
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

/** Medians of several loads, each in a browser that has cached nothing. */
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
  // The document measures itself: one that follows another starts anew, and nothing is asked of one that is going.
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

/** Runs in the page: times the handler that the page itself registers for samples of the cluster. */
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

/** Runs in the page: when `selector` is there, and when after that no long task came for a while. */
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
