/** Benchmarks in the web UI: live figures, the result, and the comparison of two runs. */
import type { APIRequestContext, Page } from '@playwright/test';
import { examine } from '../../appearance.ts';
import { expect, test } from '../../fixtures.ts';
import { allowDrills, createSmall, shardsOf } from '../../rest.ts';

const NAME = 'bench-target';

test.afterAll(async () => allowDrills(false));

async function lastRun(api: APIRequestContext) {
  const runs = (await (await api.get('/v1/benchmarks')).json()) as {
    uid: number;
    status: string;
    detail: string;
  }[];
  return runs[0];
}

/** Wait until the newest run is completed. The failure message contains its error. */
async function completed(api: APIRequestContext): Promise<void> {
  const state = async () => {
    const run = await lastRun(api);
    return { status: run?.status, detail: run?.detail };
  };
  await expect.poll(state, { timeout: 90_000 }).toMatchObject({ status: 'completed' });
}

/** Write keys that no stored run has written: those of a run that is deleted afterwards. */
async function writeApplicationKeys(api: APIRequestContext, uid: number): Promise<void> {
  const workload = { key_prefix: 'app:', key_maximum: 50, ratio: '1:0', test_time: 1, clients: 1 };
  const data = { name: 'keys', bdb_uid: uid, workload: { ...workload, threads: 1 } };
  const reply = await api.post('/v1/benchmarks', { data });
  expect(reply.status(), await reply.text()).toBe(200);
  await completed(api);
  const run = (await reply.json()) as { uid: number };
  const deleted = async () => (await api.delete(`/v1/benchmarks/${run.uid}`)).status();
  await expect.poll(deleted).toBe(200);
}

async function start(page: Page, name: string, seconds: number): Promise<void> {
  await page.goto('/benchmarks/new');
  await page.getByRole('button', { name: 'Load test' }).click();
  await expect(page.getByText(/maximum rate, with an SLA/)).toBeVisible();
  await page.getByLabel('Name', { exact: false }).first().fill(name);
  await page.getByLabel('Database', { exact: true }).selectOption({ label: NAME });
  await page.getByLabel('Threads', { exact: true }).fill('1');
  await page.getByLabel('Connections per thread').fill('2');
  await page.getByLabel('Keys', { exact: true }).fill('500');
  await page.getByLabel('Duration (seconds)').fill(String(seconds));
  await expect(page.getByText('Keys written (maximum)')).toBeVisible();
  await page.getByRole('button', { name: 'Start run' }).click();
  await expect(page.getByRole('heading', { name, level: 1 })).toBeVisible();
}

test('a run is started, and shows live figures and its result', async ({ page, api }) => {
  await createSmall(api, NAME);
  await page.goto('/benchmarks');
  await expect(page.getByRole('link', { name: 'Run a benchmark' })).toBeVisible();

  await start(page, 'first', 3);
  await expect(page.getByRole('progressbar', { name: 'Progress' })).toBeVisible();
  const throughput = page.getByRole('region', {
    name: 'Throughput measured by the load generator',
  });
  await expect(throughput).toBeVisible();
  const heat = page.getByRole('region', {
    name: 'Latency heat map measured by the load generator',
  });
  await expect(heat.locator('[data-figure="Most frequent"] b')).toHaveText(/\d\s(µs|ms)–/);
  await completed(api);
  await expect(page.getByRole('table', { name: 'SLA' })).toBeVisible();
  const measured = page.getByRole('region', { name: 'Measured', exact: true });
  await expect(measured.getByText('ops/s')).toBeVisible();
  await expect(page.getByRole('table', { name: 'Phases of the run' })).toContainText('populate');
  await expect(page.getByRole('table', { name: 'Latency by percentile' })).toContainText('P99.9');
  await examine(page, 'benchmark');
});

test('two runs are compared, and one is deleted', { tag: '@slow' }, async ({ page, api }) => {
  await createSmall(api, NAME);
  await start(page, 'first', 5);
  await completed(api);
  await page.getByRole('link', { name: 'Run with changes…' }).click();
  await expect(page.getByLabel('Keys', { exact: true })).toHaveValue('500');
  await page.getByLabel('Name', { exact: false }).first().fill('second');
  await page.getByLabel('Duration (seconds)').fill('2');
  await page.getByRole('button', { name: 'Start run' }).click();
  await expect(page.getByRole('heading', { name: 'second', level: 1 })).toBeVisible();
  await completed(api);
  await page.goto('/benchmarks');
  await examine(page, 'benchmarks');
  await page.getByLabel('Compare first').check();
  await page.getByLabel('Compare second').check();
  await page.getByRole('button', { name: 'Compare 2 runs' }).click();
  const figures = page.getByRole('table', { name: 'Figures' });
  await expect(figures).toContainText('first (baseline)');
  await expect(figures).toContainText('noise unknown');
  await expect(page.getByRole('img', { name: /percentile of first, second/ })).toBeVisible();
  await expect(page.getByRole('table', { name: 'Settings that differ' })).toContainText(
    'Phase 2, measure: test time',
  );
  await page
    .getByLabel('Baseline')
    .selectOption({ label: `second (${(await lastRun(api))?.uid})` });
  await expect(figures).toContainText('second (baseline)');
  await page.getByLabel('Factors by').selectOption({ label: 'Name of the run' });
  await expect(page.getByText(`All runs have the same database, ${NAME}.`)).toBeVisible();
  await examine(page, 'benchmark-compare');

  const last = await lastRun(api);
  await page.goto(`/benchmarks/${last?.uid}`);
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('button', { name: 'Delete run' }).click();
  await expect(page.getByRole('link', { name: 'first' })).toBeVisible();
  await expect(page.getByRole('link', { name: 'second' })).toHaveCount(0);
});

test('values are verified, and clients are listed', { tag: '@slow' }, async ({ page, api }) => {
  await createSmall(api, NAME);
  await start(page, 'not verified', 1);
  await completed(api);
  // Keys that the first run wrote have wrong values until the second run writes them.
  await page.getByRole('link', { name: 'Run with changes…' }).click();
  await page.getByLabel('Name', { exact: false }).first().fill('verified');
  await page.getByLabel('Write all keys once').uncheck();
  await page.getByLabel('Verify values').check();
  await expect(page.getByText(/values verified/)).toBeVisible();
  const offer = page.getByRole('button', { name: /^Use .* keys$/ });
  await expect(offer).toBeVisible();
  await expect(page.getByText(/× 90 % \//)).toBeVisible();
  await examine(page, 'benchmark-fill');
  await page.getByRole('button', { name: 'Start run' }).click();
  await expect(page.getByRole('heading', { name: 'verified', level: 1 })).toBeVisible();
  await completed(api);
  await expect(page.getByText(/differed from the value that was written, first for/)).toBeVisible();
  await expect(page.getByRole('table', { name: 'Clients' })).toContainText('client 1');
  await examine(page, 'benchmark-verified');
  const run = await lastRun(api);
  const guide = await api.get(`/v1/benchmarks/${run?.uid}/report?format=guide`);
  expect(await guide.text()).toMatch(/^"filename", "clients", "len".*\n.*"500".*"mixed"\n$/);
});

test('a pasted memtier command line is parsed or rejected with a reason', async ({ page, api }) => {
  await createSmall(api, NAME);
  await page.goto('/benchmarks/new');
  await page.getByText('memtier command', { exact: true }).click();
  const line = page.getByLabel('Command line of memtier_benchmark');
  await line.fill('memtier_benchmark --threads=1 --clients=3 --test-time=5 --ratio=1:1 -s host');
  await expect(page.getByText(/Workload: 3.connections/)).toBeVisible();
  await line.fill('./memtier_benchmark -s -p 12320 –pipeline=20 -c 10 –ratio=1:1 –test-time=120');
  await expect(page.getByText('Read –pipeline as --pipeline.')).toBeVisible();
  await expect(page.getByText(/Read as:/)).toContainText('--pipeline=20 --clients=10 --ratio=1:1');
  await examine(page, 'benchmark-line');
  await line.fill('redis-benchmark -t set -r 1000 -n 5000');
  await expect(page.getByText('redis-benchmark has other options')).toBeVisible();
  await page.getByRole('button', { name: 'Use this line' }).click();
  await expect(page.getByText(/Workload: 50.connections/)).toBeVisible();
  await line.fill('memtier_benchmark --no-such-option');
  await expect(page.getByText(/no-such-option/).last()).toBeVisible();
  await examine(page, 'benchmark-new');
});

test('the highest rate within a limit is found', { tag: '@slow' }, async ({ page, api }) => {
  test.setTimeout(300_000);
  await createSmall(api, NAME);
  await page.goto('/benchmarks/new');
  await page.getByRole('button', { name: 'Highest rate' }).click();
  await page.getByLabel('Database', { exact: true }).selectOption({ label: NAME });
  await page.getByLabel('Threads', { exact: true }).fill('1');
  await page.getByLabel('Connections per thread').fill('4');
  await page.getByLabel('Keys', { exact: true }).fill('500');
  await page.getByLabel('Duration (seconds)').fill('2');
  const card = page.getByRole('region', { name: 'Highest rate' });
  await card.getByLabel('Limit', { exact: true }).fill('20');
  await card.getByLabel('Confirmation runs').fill('1');
  await expect(page.getByText(/highest rate with average latency ≤ 20 ms/)).toBeVisible();
  await expect(page.getByText('until the search ends')).toBeVisible();
  await examine(page, 'benchmark-find-max-new');
  await page.getByRole('button', { name: 'Start run' }).click();
  const result = page.getByRole('region', { name: 'Highest rate with average latency ≤ 20 ms' });
  await expect(result.getByRole('img', { name: 'Latency by rate' })).toBeVisible({
    timeout: 60_000,
  });
  const status = async () => (await lastRun(api))?.status;
  await expect.poll(status, { timeout: 240_000 }).toBe('completed');
  await expect(result).toContainText('in 1 confirmation run');
  await expect(page.getByRole('table', { name: 'Phases of the run' })).toContainText(
    'confirmation',
  );
  await examine(page, 'benchmark-find-max');
  await page.getByRole('link', { name: 'Run with changes…' }).click();
  await expect(card.getByLabel('Limit', { exact: true })).toHaveValue('20 ms');
});

test('a database with keys of applications needs an agreement, and a run is repeated @slow', async ({
  page,
  api,
}) => {
  const { uid } = await createSmall(api, NAME);
  await writeApplicationKeys(api, uid);
  await page.goto('/benchmarks/new');
  await page.getByRole('button', { name: 'Load test' }).click();
  await page.getByLabel('Database', { exact: true }).selectOption({ label: NAME });
  await page.getByLabel('Threads', { exact: true }).fill('1');
  await page.getByLabel('Connections per thread').fill('2');
  await page.getByLabel('Keys', { exact: true }).fill('500');
  await page.getByLabel('Duration (seconds)').fill('2');
  await expect(page.getByText('100% of 20 sampled keys').first()).toBeVisible();
  await examine(page, 'benchmark-foreign-keys');
  await page.getByRole('button', { name: 'Start run' }).click();
  await expect(page.getByText(/To run the benchmark anyway, send overwrite/)).toBeVisible();
  await page.getByLabel('Start anyway').check();
  await page.getByRole('button', { name: 'Start run' }).click();
  await expect(page.getByRole('heading', { name: 'load test', level: 1 })).toBeVisible();
  await completed(api);
  const first = (await lastRun(api))?.uid;
  await page.getByRole('button', { name: 'Run again' }).click();
  await expect.poll(async () => (await lastRun(api))?.uid).not.toBe(first);
  await completed(api);
});

test('a run can include a drill if drills are allowed', { tag: '@slow' }, async ({ page, api }) => {
  const { uid } = await createSmall(api, NAME, { replication: true });
  await page.goto('/benchmarks/new');
  const card = page.getByRole('region', { name: 'Drill' });
  await expect(card).toContainText('The policy of this cluster does not allow drills.');

  await allowDrills(true);
  await page.reload();
  await page.getByLabel('Name', { exact: false }).first().fill('struck');
  await page.getByLabel('Database', { exact: true }).selectOption({ label: NAME });
  await page.getByLabel('Threads', { exact: true }).fill('1');
  await page.getByLabel('Connections per thread').fill('2');
  await page.getByLabel('Keys', { exact: true }).fill('500');
  await page.getByLabel('Duration (seconds)').fill('6');
  await card.getByLabel('Drill type').selectOption({ label: 'Kill one shard' });
  await expect(page.getByText('Select the shard of the drill.')).toBeVisible();
  const replica = (await shardsOf(api, uid)).find(({ role }) => role === 'slave');
  await card.getByLabel('Shard').selectOption(replica?.uid ?? '');
  await card.getByLabel('Start after (seconds)').fill('2');
  await expect(card).toContainText(`The process of redis:${replica?.uid}`);
  await examine(page, 'benchmark-drill');
  await page.getByRole('button', { name: 'Start run' }).click();
  await expect(page.getByRole('heading', { name: 'struck', level: 1 })).toBeVisible();
  await expect(page.getByText(`Kill one shard: redis:${replica?.uid} on node`)).toBeVisible();
  await completed(api);
  const events = (await (await api.get('/v1/logs')).json()) as { type: string }[];
  expect(events.map(({ type }) => type)).toContain('drill_started');
});
