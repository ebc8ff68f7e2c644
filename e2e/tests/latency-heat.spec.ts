/** The latency heat map: requests by type, the tooltip, zoom, and gaps. */
import type { Locator, Page } from '@playwright/test';
import { examine } from '../appearance.ts';
import { expect, test } from '../fixtures.ts';
import { stackInfo } from '../stack.ts';

interface LatencyReply {
  from: number;
  step: number;
  seconds: number[];
  columns: number[][];
}

// Recording all changes of this live page would take as long as the test.
test.use({ trace: 'off' });

const QUERY = `/v1/history/latency?bdb=`;
const requests = ({ columns }: LatencyReply) =>
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

  /** Move the pointer to a fraction of the width and height of the plot. */
  async point(x: number, y: number): Promise<void> {
    const box = await this.plot.boundingBox();
    if (!box) throw new Error('the plot is not visible');
    await this.page.mouse.move(box.x + box.width * x, box.y + box.height * y);
  }
}

test('the heat map shows requests by type, and a tooltip for the cell under the pointer', async ({
  page,
  api,
}) => {
  const heat = new HeatMap(page);
  await heat.open(300);
  await expect(heat.figure('Most frequent')).toHaveText(/\d\s(µs|ms)–.*\d\s(µs|ms)/);

  await heat.choose('Writes');
  await expect(heat.figure('Requests')).toHaveText(/\d/);
  await heat.choose('All');
  await expect(heat.figure('Requests')).toHaveText(/\d/);

  // There is traffic at the right edge.
  await heat.point(0.9, 0.5);
  await expect(heat.tooltip).toContainText(/Latency.*\d\s(µs|ms)/);
  await expect(heat.tooltip).toContainText(/Share of [\d,]+/);
  await expect(heat.tooltip).toContainText(/Slower.*%/);
  await page.mouse.move(0, 0);
  await expect(heat.tooltip).toBeHidden();

  const now = Math.floor(Date.now() / 1000);
  const countRequests = async (more: string) => {
    const reply = await api.get(
      `${QUERY}${stackInfo().bdb}&from=${now - 30}&to=${now - 10}${more}`,
    );
    return requests((await reply.json()) as LatencyReply);
  };
  const parts = await Promise.all(
    ['read', 'write', 'other'].map((kind) => countRequests(`&kind=${kind}`)),
  );
  expect(await countRequests('')).toBe(parts.reduce((sum, part) => sum + part));
  expect(parts[0]).toBeGreaterThan(0);
});

test('dragging zooms the page and reloads the heat map', { tag: '@slow' }, async ({ page }) => {
  const heat = new HeatMap(page);
  await heat.open(300);
  await heat.point(0.6, 0.5);
  await page.mouse.down();
  await heat.point(0.95, 0.5);
  const read = page.waitForResponse((reply) => reply.url().includes('/v1/history/latency'));
  await page.mouse.up();
  await expect(page).toHaveURL(/from=\d+.*to=\d+/);
  const { seconds } = (await (await read).json()) as LatencyReply;
  expect(seconds.length).toBeLessThan(150);
  await expect(heat.figure('Requests')).toHaveText(/\d/);
});

test('the heat map shows a gap for the time before the database existed', {
  tag: '@slow',
}, async ({ page, api }) => {
  const now = Math.floor(Date.now() / 1000);
  const reply = await api.get(`${QUERY}${stackInfo().bdb}&from=${now - 3_000}&to=${now}`);
  const history = (await reply.json()) as LatencyReply;
  expect(history.seconds[0]).toBe(0);
  expect(history.columns[0]).toEqual([]);
  expect(requests(history)).toBeGreaterThan(0);
  const heat = new HeatMap(page);
  await heat.open(900);
  await examine(page, 'metrics-heat');
});
