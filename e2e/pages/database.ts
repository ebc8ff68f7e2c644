/** Page object of a database: header, charts, placement, deletion. */
import { expect, type Locator, type Page } from '@playwright/test';
import { copiedBy } from '../clipboard.ts';

type DatabaseTab = 'metrics' | 'shards' | 'endpoint' | 'configuration' | 'backups' | 'events';

export interface PlacedShard {
  uid: string;
  role: string;
  slots: string;
  node: string;
}

export class DatabasePage {
  /** The state next to the name. */
  readonly state: Locator;
  readonly cells: Locator;
  readonly slotBar: Locator;

  constructor(private readonly page: Page) {
    const main = page.getByRole('main');
    this.state = main.locator('h1 + [data-tone]');
    this.cells = main.getByRole('button', { name: /^redis:\d+/ });
    this.slotBar = main.getByRole('img', { name: /hash slots/ });
  }

  async open(uid: number, tab: DatabaseTab): Promise<void> {
    await this.page.goto(`/databases/${uid}/${tab}`);
  }

  async tab(name: Capitalize<DatabaseTab>): Promise<void> {
    const tabs = this.page.getByRole('navigation', { name: 'Database' });
    await tabs.getByRole('link', { name }).click();
  }

  chart(title: string): Locator {
    return this.page.getByRole('region', { name: title, exact: true });
  }

  /** Return a figure of the legend below a chart. */
  figure(title: string, series: string, column: 'min' | 'avg' | 'max' | 'last'): Locator {
    const row = this.chart(title).getByRole('row').filter({ hasText: series });
    return row.locator(`[data-column="${column}"]`);
  }

  /** Return the samples of a chart from its CSV export: the second, and a number or null per series. */
  async csv(title: string): Promise<{ second: number; values: (number | null)[] }[]> {
    const options = this.chart(title).getByRole('button', { name: `Options of ${title}` });
    await options.click();
    const item = this.page.getByRole('menuitem', { name: 'Copy as CSV' });
    const text = await copiedBy(this.page, () => item.click());
    await expect(options).toBeVisible();
    return text
      .split('\n')
      .slice(1)
      .map((line) => {
        const [time = '', ...values] = line.split(',');
        return {
          second: Date.parse(time) / 1000,
          values: values.map((value) => (value === '' ? null : Number(value))),
        };
      });
  }

  async placed(): Promise<PlacedShard[]> {
    // The text for screen readers, without the live value.
    const texts = await this.cells.locator('.sr-only').allTextContents();
    const uids = await this.cells.evaluateAll((cells) =>
      cells.map((cell) => (cell as HTMLElement).dataset.shard ?? ''),
    );
    return texts.map((text, index) => {
      const match = /(primary|replica) of slots (.+?) on node (\d+)/.exec(text);
      if (!match) throw new Error(`unexpected text of a cell: ${text}`);
      const [, role = '', slots = '', node = ''] = match;
      return { uid: uids[index] ?? '', role, slots, node };
    });
  }

  async askToDelete(): Promise<Locator> {
    await this.page.getByRole('button', { name: 'Database actions' }).click();
    await this.page.getByRole('menuitem', { name: 'Delete…' }).click();
    return this.page.getByRole('dialog', { name: /^Delete/ });
  }
}
