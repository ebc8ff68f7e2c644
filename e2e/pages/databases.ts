/** Page object of the table of databases. */
import type { Locator, Page } from '@playwright/test';

export class DatabasesPage {
  readonly table: Locator;
  readonly create: Locator;

  constructor(private readonly page: Page) {
    this.table = page.getByRole('table', { name: 'Databases' });
    this.create = page.getByRole('link', { name: 'Create database' });
  }

  async open(): Promise<void> {
    await this.page.goto('/databases');
  }

  row(name: string): Locator {
    const link = this.page.getByRole('link', { name, exact: true });
    return this.table.getByRole('row').filter({ has: link });
  }

  /** Return the cell of a row below a header. */
  async cell(name: string, header: string): Promise<Locator> {
    await this.row(name).waitFor();
    const headers = await this.table.getByRole('columnheader').allInnerTexts();
    const index = headers.findIndex((text) => text.trim() === header);
    if (index === -1) throw new Error(`no column ${header} among ${headers.join(', ')}`);
    return this.row(name).getByRole('cell').nth(index);
  }
}
