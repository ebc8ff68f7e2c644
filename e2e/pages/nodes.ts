/** Page object of the table of nodes. */
import type { Locator, Page } from '@playwright/test';

export class NodesPage {
  readonly table: Locator;

  constructor(private readonly page: Page) {
    this.table = page.getByRole('table', { name: 'Nodes' });
  }

  async open(): Promise<void> {
    await this.page.goto('/nodes');
  }

  row(node: number): Locator {
    const link = this.page.getByRole('link', { name: `node ${node}`, exact: true });
    return this.table.getByRole('row').filter({ has: link });
  }
}
