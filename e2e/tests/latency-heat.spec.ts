/** The heat map of latency: real requests in it, by kind, under the pointer, zoomed, and honest about what nobody knows. */
import type { Locator, Page } from '@playwright/test';
import { examine } from '../appearance.ts';
import { expect, test } from '../fixtures.ts';
import { stackInfo } from '../stack.ts';

interface Told {
  from: number;
  step: number;
  seconds: number[];
  columns: number[][];
}

// As in appearance.spec.ts: recording every change of this live page would cost as much as all the rest.
test.use({ trace: 'off' });

const QUERY = `/v1/history/latency?bdb=`;
const requests = ({ columns }: Told) =>
  columns.reduce((sum, [, ...counts]) => counts.reduce((all, count) => all + count, sum), 0);

class HeatMap {
  readonly region: Locator;
  readonly tooltip: Locator;
  private readonly plot: Locator;

  constructor(private readonly page: Page) {
    this.region = page.getByRole('region', { name: 'Latency heat map' });
    this.plot = this.region.locator('.u-over');
    this.tooltip = this.region.locator('[data-wide]');
  }

  async open(range: number): Promise<void> {
    await this.page.goto(`/databases/${stackInfo().bdb}/metrics?range=${range}`);
    await this.region.scrollIntoViewIfNeeded();
    await expect(this.figure('Requests')).toHaveText(/\d/);
  }

  figure(name: string): Locator {
    return this.region.locator(`[data-figure="${name}"] b`);
  }

  async choose(kind: string): Promise<void> {
    await this.region.getByText(kind, { exact: true }).click();
  }

  /** The pointer at a part of the width and height of the plot. */
  async point(x: number, y: number): Promise<void> {
    const box = await this.plot.boundingBox();
    if (!box) throw new Error('the plot is not there');
    await this.page.mouse.move(box.x + box.width * x, box.y + box.height * y);
  }
}

test('requests by latency and time, of each kind, with the share of what is under the pointer', async ({
  page,
  api,
}) => {
  const heat = new HeatMap(page);
  await heat.open(300);
  await expect(heat.figure('Most at')).toHaveText(/\d\s(µs|ms)–.*\d\s(µs|ms)/);

  await heat.choose('Writes');
  await expect(heat.figure('Requests')).toHaveText(/\d/);
  await heat.choose('All');
  await expect(heat.figure('Requests')).toHaveText(/\d/);

  // At the right there is traffic; somewhere between top and bottom some of it.
  await heat.point(0.9, 0.5);
  await expect(heat.tooltip).toContainText(/Latency.*\d\s(µs|ms)/);
  await expect(heat.tooltip).toContainText(/Share of [\d,]+/);
  await expect(heat.tooltip).toContainText(/Slower.*%/);
  await page.mouse.move(0, 0);
  await expect(heat.tooltip).toBeHidden();

  const now = Math.floor(Date.now() / 1000);
  const ask = async (more: string) => {
    const reply = await api.get(
      `${QUERY}${stackInfo().bdb}&from=${now - 30}&to=${now - 10}${more}`,
    );
    return requests((await reply.json()) as Told);
  };
  const parts = await Promise.all(['read', 'write', 'other'].map((kind) => ask(`&kind=${kind}`)));
  expect(await ask('')).toBe(parts.reduce((sum, part) => sum + part));
  expect(parts[0]).toBeGreaterThan(0);
});

test('a drag zooms the whole page, and the heat map is read anew for it', { tag: '@slow' }, async ({
  page,
}) => {
  const heat = new HeatMap(page);
  await heat.open(300);
  await heat.point(0.6, 0.5);
  await page.mouse.down();
  await heat.point(0.95, 0.5);
  const read = page.waitForResponse((reply) => reply.url().includes('/v1/history/latency'));
  await page.mouse.up();
  await expect(page).toHaveURL(/from=\d+.*to=\d+/);
  const { seconds } = (await (await read).json()) as Told;
  expect(seconds.length).toBeLessThan(150);
  await expect(heat.figure('Requests')).toHaveText(/\d/);
});

test('before the database was there nobody counted, and the heat map says so', {
  tag: '@slow',
}, async ({ page, api }) => {
  const now = Math.floor(Date.now() / 1000);
  const reply = await api.get(`${QUERY}${stackInfo().bdb}&from=${now - 3_000}&to=${now}`);
  const told = (await reply.json()) as Told;
  expect(told.seconds[0]).toBe(0);
  expect(told.columns[0]).toEqual([]);
  expect(requests(told)).toBeGreaterThan(0);
  const heat = new HeatMap(page);
  await heat.open(900);
  await examine(page, 'metrics-heat');
});
