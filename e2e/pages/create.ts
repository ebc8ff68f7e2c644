/** Page object of the form that creates a database. */
import type { Locator, Page } from '@playwright/test';

export class CreatePage {
  readonly name: Locator;
  readonly port: Locator;
  readonly memory: Locator;
  readonly memoryUnit: Locator;
  readonly replication: Locator;
  readonly sharding: Locator;
  readonly clusterApi: Locator;
  readonly shards: Locator;
  readonly placement: Locator;
  readonly password: Locator;
  readonly plan: Locator;
  readonly curl: Locator;
  readonly submit: Locator;

  constructor(private readonly page: Page) {
    const main = page.getByRole('main');
    this.name = main.getByLabel('Name', { exact: true });
    this.port = main.getByLabel('Port', { exact: true });
    this.memory = main.getByRole('textbox', { name: 'Memory limit' });
    this.memoryUnit = main.getByLabel('Memory unit');
    this.replication = main.getByRole('switch', { name: 'Replication' });
    this.sharding = main.getByRole('switch', { name: 'Sharding' });
    this.clusterApi = main.getByRole('switch', { name: 'OSS Cluster API' });
    this.shards = main.getByRole('textbox', { name: 'Number of shards' });
    this.placement = main.getByLabel('Shard placement');
    this.password = main.getByRole('textbox', { name: 'Password of the default user' });
    this.plan = main.getByRole('region', { name: 'Summary of the new database' });
    this.curl = main.getByRole('region', { name: 'Equivalent curl command' }).locator('pre');
    this.submit = main.getByRole('button', { name: 'Create database' });
  }

  async open(): Promise<void> {
    await this.page.goto('/databases/new');
  }
}
