/** A person runs benchmarks: with numbers that move while they look, a result, and two runs side by side. */
import type { APIRequestContext, Page } from '@playwright/test';
import { examine } from '../appearance.ts';
import { expect, test } from '../fixtures.ts';
import { createSmall, remove } from '../rest.ts';

const NAME = 'bench-target';

async function lastRun(api: APIRequestContext) {
  const runs = (await (await api.get('/v1/benchmarks')).json()) as {
    uid: number;
    status: string;
    detail: string;
  }[];
  return runs[0];
}

async function start(page: Page, name: string, seconds: number): Promise<void> {
  await page.goto('/benchmarks/new');
  await page.getByLabel('Name', { exact: false }).first().fill(name);
  await page.getByLabel('Database', { exact: true }).selectOption({ label: NAME });
  await page.getByLabel('Threads', { exact: true }).fill('1');
  await page.getByLabel('Connections per thread').fill('2');
  await page.getByLabel('Keys', { exact: true }).fill('500');
  await page.getByLabel('Duration (seconds)').fill(String(seconds));
  await expect(page.getByText('Keys written, at most')).toBeVisible();
  await page.getByRole('button', { name: 'Start the run' }).click();
  await expect(page.getByRole('heading', { name, level: 1 })).toBeVisible();
}

test('a run is ordered, watched while it goes on, and compared with another', async ({
  page,
  api,
}) => {
  const { uid } = await createSmall(api, NAME);
  await page.goto('/benchmarks');
  await expect(page.getByRole('link', { name: 'Run the first one' })).toBeVisible();

  await start(page, 'first', 5);
  const throughput = page.getByRole('region', { name: 'Throughput, as the load generator' });
  await expect(throughput).toBeVisible();
  await expect(page.getByRole('progressbar', { name: 'Progress' })).toBeVisible();
  await expect
    .poll(async () => (await lastRun(api))?.status, { timeout: 90_000 })
    .toBe('completed');
  await expect(page.getByRole('table', { name: 'SLA' })).toBeVisible();
  const measured = page.getByRole('region', { name: 'Measured' });
  await expect(measured.getByText('ops/s')).toBeVisible();
  await expect(page.getByRole('table', { name: 'Parts of the run' })).toContainText('populate');
  await examine(page, 'benchmark');

  await start(page, 'second', 2);
  await expect
    .poll(async () => (await lastRun(api))?.status, { timeout: 90_000 })
    .toBe('completed');
  await page.goto('/benchmarks');
  await examine(page, 'benchmarks');
  await page.getByLabel('Compare first').check();
  await page.getByLabel('Compare second').check();
  await page.getByRole('button', { name: 'Compare 2 runs' }).click();
  const figures = page.getByRole('table', { name: 'Figures' });
  await expect(figures).toContainText('first (base)');
  await expect(figures).toContainText('noise not known');
  await examine(page, 'benchmark-compare');

  const last = await lastRun(api);
  await page.goto(`/benchmarks/${last?.uid}`);
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('button', { name: 'Delete the run' }).click();
  await expect(page.getByRole('link', { name: 'second' })).toHaveCount(0);
  await remove(api, uid);
});

test('a pasted memtier line is understood or refused in words', async ({ page, api }) => {
  const { uid } = await createSmall(api, NAME);
  await page.goto('/benchmarks/new');
  await page.getByText('Paste a memtier line').click();
  const line = page.getByLabel('Command line of memtier_benchmark');
  await line.fill('memtier_benchmark --threads=1 --clients=3 --test-time=5 --ratio=1:1 -s host');
  await expect(page.getByText(/Understood: 3.connections/)).toBeVisible();
  await line.fill('memtier_benchmark --no-such-option');
  await expect(page.getByText(/no-such-option/).last()).toBeVisible();
  await examine(page, 'benchmark-new');
  await remove(api, uid);
});
