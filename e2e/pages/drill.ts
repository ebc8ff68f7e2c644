/** Page object of the drill dialog. */
import { expect, type Locator, type Page } from '@playwright/test';

export class DrillDialog {
  private readonly dialog: Locator;

  constructor(
    page: Page,
    private readonly node: number,
  ) {
    this.dialog = page.getByRole('dialog', { name: `Drill on node ${node}` });
  }

  /** Select a drill, confirm it by entering the name, and start it. */
  async start(label: string, settings: { shard?: string; seconds?: number } = {}): Promise<void> {
    await this.dialog.getByLabel('Drill type').selectOption({ label });
    if (settings.shard) await this.dialog.getByLabel('Shard').selectOption(settings.shard);
    if (settings.seconds)
      await this.dialog.getByLabel('Duration (seconds)').fill(String(settings.seconds));
    const sure = this.dialog.getByRole('button', { name: /^(Kill|Reboot|Freeze)/ });
    await expect(sure).toBeDisabled();
    await this.dialog.getByRole('textbox', { name: /to confirm/ }).fill(`node ${this.node}`);
    await sure.click();
    await expect(this.dialog).toHaveCount(0);
  }
}
