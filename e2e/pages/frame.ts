/** Page object of the layout of all pages: navigation, banners, live switch, menus, dialogs. */
import type { Locator, Page } from '@playwright/test';

export class Frame {
  readonly banners: Locator;
  readonly live: Locator;
  readonly theme: Locator;
  readonly userMenu: Locator;
  readonly main: Locator;

  constructor(private readonly page: Page) {
    this.banners = page.getByRole('status');
    this.live = page.getByRole('button', { name: 'Live' });
    this.theme = page.getByRole('button', { name: 'Theme' });
    this.userMenu = page.getByRole('button', { name: 'User menu' });
    this.main = page.getByRole('main');
  }

  heading(text: string | RegExp): Locator {
    return this.main.getByRole('heading', { level: 1, name: text });
  }

  dialog(name: string | RegExp): Locator {
    return this.page.getByRole('dialog', { name });
  }

  async goTo(label: 'Overview' | 'Databases' | 'Nodes' | 'Activity' | 'Settings'): Promise<void> {
    const navigation = this.page.getByRole('navigation', { name: 'Main' });
    await navigation.getByRole('link', { name: label }).click();
  }

  /** Open a tab of the section. */
  async openTab(section: 'Databases' | 'Activity' | 'Benchmarks', label: string): Promise<void> {
    const tabs = this.page.getByRole('navigation', { name: section });
    await tabs.getByRole('link', { name: label, exact: true }).click();
  }

  async chooseTheme(name: 'System' | 'Light' | 'Dark'): Promise<void> {
    await this.theme.click();
    await this.page.getByRole('menuitem', { name }).click();
  }

  async chooseZone(name: 'Local time' | 'UTC'): Promise<void> {
    await this.userMenu.click();
    await this.page.getByRole('menuitem', { name }).click();
  }
}
