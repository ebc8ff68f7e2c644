/** Page object of the sign-in page. */
import type { Locator, Page } from '@playwright/test';

export class LoginPage {
  readonly user: Locator;
  readonly password: Locator;
  readonly submit: Locator;
  readonly error: Locator;

  constructor(private readonly page: Page) {
    // Not only by its label: just after signing out, the button "User menu" is still visible.
    this.user = page.getByRole('textbox', { name: 'User' });
    this.password = page.getByRole('textbox', { name: 'Password' });
    this.submit = page.getByRole('button', { name: 'Sign in', exact: true });
    this.error = page.getByRole('alert');
  }

  async open(): Promise<void> {
    await this.page.goto('/login');
  }

  async signIn(user: string, password: string): Promise<void> {
    await this.user.fill(user);
    await this.password.fill(password);
    await this.submit.click();
  }
}
