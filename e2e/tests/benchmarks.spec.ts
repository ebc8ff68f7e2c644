/** Benchmarks in the web UI: live figures, the result, and the comparison of two runs. */
import type { APIRequestContext, Page } from '@playwright/test';
import { examine } from '../appearance.ts';
import { expect, test } from '../fixtures.ts';
import { allowDrills, createSmall, shardsOf } from '../rest.ts';

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
  await page.getByRole('link', { name: 'Run again…' }).click();
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
  await expect(figures).toContainText('first (base)');
  await expect(figures).toContainText('noise unknown');
  await expect(page.getByRole('img', { name: /percentile of first, second/ })).toBeVisible();
  await expect(page.getByRole('table', { name: 'Settings that differ' })).toContainText(
    'Phase 2, measure: test time',
  );
  await examine(page, 'benchmark-compare');

  const last = await lastRun(api);
  await page.goto(`/benchmarks/${last?.uid}`);
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('button', { name: 'Delete run' }).click();
  await expect(page.getByRole('link', { name: 'first' })).toBeVisible();
  await expect(page.getByRole('link', { name: 'second' })).toHaveCount(0);
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
