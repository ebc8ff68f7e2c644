/** Page object of the timeline and of the page of an incident. */
import type { Locator, Page } from '@playwright/test';

export class TimelinePage {
  /** Details of the selected mark or bar. */
  readonly panel: Locator;

  constructor(private readonly page: Page) {
    this.panel = page.getByRole('complementary', { name: 'Event' });
  }

  /** Return marks and bars of the lanes by their text. */
  marks(text: RegExp): Locator {
    return this.page
      .locator('button[data-item]')
      .and(this.page.getByRole('button', { name: text }));
  }

  /** Return the rows of a table of the incident, without the header. */
  rows(table: 'Databases' | 'Failovers' | 'Resyncs'): Locator {
    return this.page.getByRole('table', { name: table }).locator('tbody').getByRole('row');
  }
}
