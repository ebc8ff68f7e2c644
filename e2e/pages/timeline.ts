/** The timeline, and the page of one incident. */
import type { Locator, Page } from '@playwright/test';

export class TimelinePage {
  /** What is told of the mark or bar that was chosen. */
  readonly panel: Locator;

  constructor(private readonly page: Page) {
    this.panel = page.getByRole('complementary', { name: 'Event' });
  }

  /** Marks and bars of the lanes, by what they tell. */
  marks(text: RegExp): Locator {
    return this.page
      .locator('button[data-item]')
      .and(this.page.getByRole('button', { name: text }));
  }

  /** Rows of a table of the incident, without its head. */
  rows(table: 'Databases' | 'Failovers' | 'Resyncs'): Locator {
    return this.page.getByRole('table', { name: table }).locator('tbody').getByRole('row');
  }
}
