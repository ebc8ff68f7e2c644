/** Scenarios in the web UI: the library, the start of a run, its progress and result, and the end of an aborted run. */
import type { APIRequestContext } from '@playwright/test';
import { examine } from '../../appearance.ts';
import { expect, test } from '../../fixtures.ts';

interface Run {
  uid: number;
  status: string;
  detail: string;
}

/** Title of the scenario `flash-115k`. At the smallest scale, it takes about 20 seconds. */
const FLASH = '115,000 operations per second on flash';
/** The smallest scale. */
const SMALLEST = '0.000001';

async function lastRun(api: APIRequestContext): Promise<Run | undefined> {
  const runs = (await (await api.get('/v1/scenario_runs')).json()) as Run[];
  return runs[0];
}

/** Wait until the newest run has a status. The failure message contains its error. */
async function until(api: APIRequestContext, status: string): Promise<void> {
  const state = async () => {
    const run = await lastRun(api);
    return { status: run?.status, detail: run?.detail };
  };
  await expect.poll(state, { timeout: 150_000 }).toMatchObject({ status });
}

test('a scenario is run, and its result is shown next to the published one', {
  tag: '@slow',
}, async ({ page, api }) => {
  test.setTimeout(400_000);
  await page.goto('/benchmarks');
  await page.getByRole('navigation', { name: 'Benchmarks' }).getByText('Scenarios').click();
  await expect(page.getByText('No scenario runs yet')).toBeVisible();
  const card = page.getByRole('region', { name: FLASH, exact: true });
  await expect(card).toContainText('115 k');
  await expect(card).toContainText('On this cluster');
  await examine(page, 'scenarios');

  await card.getByRole('button', { name: `Run ${FLASH}` }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Scale').fill('0');
  await expect(dialog.getByText('Enter 0.000001 to 10.')).toBeVisible();
  await expect(dialog.getByRole('button', { name: 'Start run' })).toBeDisabled();
  await dialog.getByLabel('Scale').fill(SMALLEST);
  await expect(dialog.getByText('Deviations from the document')).toBeVisible();
  await examine(page, 'scenario-start');
  await dialog.getByRole('button', { name: 'Start run' }).click();

  await expect(page.getByRole('heading', { name: FLASH, level: 1 })).toBeVisible();
  await expect(page.getByRole('progressbar', { name: 'Progress', exact: true })).toBeVisible();
  const parts = page.getByRole('region', { name: 'Parts' });
  await expect(parts.getByRole('link').first()).toBeVisible();
  await examine(page, 'scenario-progress');
  await until(api, 'completed');
  const measured = page.locator('[data-source="measured"]');
  await expect(measured.first()).toHaveText(/\d/);
  await examine(page, 'scenario-result');

  await page.getByRole('button', { name: 'Export' }).click();
  const download = page.waitForEvent('download');
  await page.getByRole('menuitem', { name: 'CSV' }).click();
  expect((await download).suggestedFilename()).toContain('.csv');

  // The databases of the run no longer exist.
  const names = ((await (await api.get('/v1/bdbs')).json()) as { name: string }[]).map(
    ({ name }) => name,
  );
  expect(names.filter((name) => name.startsWith('scenario-'))).toEqual([]);
  await page.getByRole('button', { name: 'Delete', exact: true }).click();
  await page.getByRole('button', { name: 'Delete run' }).click();
  await expect(page.getByText('No scenario runs yet')).toBeVisible();
});

test('a running scenario is stopped', { tag: '@slow' }, async ({ page, api }) => {
  const scenario = { scenario: 'load-test', scale: Number(SMALLEST) };
  const started = await api.post('/v1/scenario_runs', { data: scenario });
  expect(started.ok(), await started.text()).toBe(true);
  await page.goto('/benchmarks/scenarios');
  await page.getByRole('table', { name: 'Scenario runs' }).getByRole('link').click();
  await page.getByRole('button', { name: 'Stop' }).click();
  await page.getByRole('button', { name: 'Stop run' }).click();
  await until(api, 'stopped');
  await expect(page.getByRole('button', { name: 'Delete', exact: true })).toBeVisible();
  await examine(page, 'scenario-stopped');
});
