/** The form that creates a database: validation errors, and the curl command. */
import { execFileSync } from 'node:child_process';
import { examine } from '../appearance.ts';
import { copiedBy } from '../clipboard.ts';
import { expect, test } from '../fixtures.ts';
import { CreatePage } from '../pages/create.ts';
import { bdbNamed } from '../rest.ts';
import { stackInfo } from '../stack.ts';

test('invalid fields are marked before anything is sent', async ({ page, api }) => {
  const form = new CreatePage(page);
  const sent: string[] = [];
  // Ignore dry runs, with which the page previews the placement.
  page.on('request', (request) => {
    const { pathname, search } = new URL(request.url());
    if (
      request.method() === 'POST' &&
      pathname.startsWith('/v1/bdbs') &&
      !search.includes('dry_run')
    )
      sent.push(request.url());
  });
  const taken = (await bdbNamed(api, 'demo')).endpoints[0]?.port;
  await form.open();
  await form.submit.click();
  await expect(form.name).toHaveAccessibleDescription(/Enter a name/);
  await expect(form.name).toBeFocused();

  await form.name.fill('two words');
  await expect(form.name).toHaveAccessibleDescription(/Use only letters, digits, and hyphens/);
  await form.name.fill('x'.repeat(64));
  await expect(form.name).toHaveAccessibleDescription(/At most 63 characters; this name has 64/);
  await form.port.fill('9999');
  await expect(form.port).toHaveAccessibleDescription(/from 10000 to 19999/);
  await form.port.fill('10050');
  await expect(form.port).toHaveAccessibleDescription(/10050 is reserved/);
  await form.port.fill(String(taken));
  await expect(form.port).toHaveAccessibleDescription(/is used by another database/);
  await form.memory.fill('-1');
  await expect(form.memory).toHaveAccessibleDescription(/Enter a number from 0/);
  await form.sharding.click();
  await form.shards.fill('513');
  await expect(form.shards).toHaveAccessibleDescription(/from 1 to 512/);

  await form.submit.click();
  await expect(page.getByText('Correct the marked fields')).toBeVisible();
  expect(sent).toEqual([]);
});

test('errors of the console are shown at the field', async ({ page, api }) => {
  const form = new CreatePage(page);
  await form.open();
  await form.name.fill('too-small');
  await form.memory.fill('1');
  await form.memoryUnit.selectOption('MiB');
  await form.clusterApi.click();
  await form.shards.fill('64');
  await form.submit.click();
  await expect(form.memory).toHaveAccessibleDescription(/At least 192\D+MiB for 64\D+shards/);
  await expect(form.memory).toHaveAttribute('aria-invalid', 'true');
  await expect(page).toHaveURL(/\/databases\/new$/);
  const list = (await (await api.get('/v1/bdbs')).json()) as { name: string }[];
  expect(list.map(({ name }) => name)).toEqual(['demo']);

  await form.memory.fill('2000');
  await expect(form.memory).not.toHaveAttribute('aria-invalid', 'true');
});

test('a name that another database has requires a confirmation', async ({ page, api }) => {
  const form = new CreatePage(page);
  await form.open();
  await form.name.fill('demo');
  await expect(form.name).toHaveAccessibleDescription(/Another database has this name/);
  await form.memory.fill('100');
  await form.memoryUnit.selectOption('MiB');
  await form.submit.click();
  await expect(page.getByText('Correct the marked fields')).toBeVisible();

  await page.getByLabel('Use this name anyway').check();
  await form.submit.click();
  await expect(page.getByRole('heading', { name: /^demo \(uid \d+\)$/ })).toBeVisible();
  const list = (await (await api.get('/v1/bdbs')).json()) as { uid: number; name: string }[];
  expect(list.map(({ name }) => name)).toEqual(['demo', 'demo']);
  await page.goto('/databases');
  for (const { uid } of list) {
    await expect(page.getByRole('link', { name: `demo (uid ${uid})` })).toBeVisible();
  }
});

test('the curl command has the same effect as the form', async ({ page }) => {
  const form = new CreatePage(page);
  await form.open();
  await form.name.fill('by-curl');
  await form.clusterApi.click();
  await form.shards.fill('12');
  await form.replication.click();
  await form.password.fill('sesame');
  const copy = page.getByRole('button', { name: 'Copy curl command' });
  const line = await copiedBy(page, () => copy.click());
  expect(line).toBe(await form.curl.textContent());
  expect(line).not.toContain('sesame');

  const { user, password } = stackInfo();
  const dry = line
    .replace('<user>:<password>', `${user}:${password}`)
    .replace('<database-password>', 'sesame')
    .replace('/v1/bdbs ', '/v1/bdbs?dry_run=true ');
  const reply = JSON.parse(
    execFileSync('sh', ['-c', dry], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }),
  );
  expect(reply).toMatchObject({
    name: 'by-curl',
    shards_count: 12,
    replication: true,
    oss_cluster: true,
    shards_placement: 'sparse',
    memory_size: 2 ** 30,
  });
});

test('presets set the form completely, and the summary states the risks first', {
  tag: '@slow',
}, async ({ page }) => {
  const form = new CreatePage(page);
  await form.open();
  await form.name.fill('demo');
  await form.memory.fill('2');
  const preset = (name: string) => page.getByRole('button', { name: new RegExp(`^${name}`) });
  const risks = form.plan.getByRole('list', { name: 'Risks' });
  await preset('Durable').click();
  await expect(preset('Durable')).toHaveAttribute('aria-pressed', 'true');
  await expect(form.replication).toBeChecked();
  await expect(risks).toContainText('No password');
  await expect(risks).toContainText('Another database has the same name');
  await expect(risks).not.toContainText('No replicas');
  await preset('Benchmark').click();
  await expect(preset('Durable')).toHaveAttribute('aria-pressed', 'false');
  await expect(form.replication).not.toBeChecked();
  await expect(form.clusterApi).toBeChecked();
  await preset('Cache').click();
  await expect(form.clusterApi).not.toBeChecked();
  await expect(form.sharding).not.toBeChecked();
  await expect(form.memory).toHaveValue('2');
  await expect(risks).toContainText('No replicas and no persistence');
  await examine(page, 'create-preset');
  await form.replication.click();
  await expect(preset('Cache')).toHaveAttribute('aria-pressed', 'false');
});

test('the focus moves to the first invalid field, and the unit stays at its field', {
  tag: '@slow',
}, async ({ page }) => {
  const form = new CreatePage(page);
  await form.open();
  await form.name.fill('unit');
  await form.memory.fill('99999999999999999999');
  await form.submit.click();
  await expect(form.memory).toBeFocused();
  await expect(form.memory).toHaveAccessibleDescription(/Enter a number from 0/);
  const [amount, unit] = [await form.memory.boundingBox(), await form.memoryUnit.boundingBox()];
  expect(unit?.y).toBe(amount?.y);
  expect(unit?.height).toBe(amount?.height);
  await examine(page, 'create-error');
});
