/** First steps of a new user: sign in, create a database, view live metrics and placement, delete the database. */
import { execFileSync } from 'node:child_process';
import { expect, SIGNED_OUT, test } from '../fixtures.ts';
import { CreatePage } from '../pages/create.ts';
import { DatabasePage } from '../pages/database.ts';
import { DatabasesPage } from '../pages/databases.ts';
import { Frame } from '../pages/frame.ts';
import { LoginPage } from '../pages/login.ts';
import { bdbNamed, shardsOf } from '../rest.ts';
import { stack, stackInfo } from '../stack.ts';

const NAME = 'walk';
const SHARDS = 3;
const KEYS = 500;

test.use({ storageState: SIGNED_OUT });

test('first steps from sign-in to a deleted database', async ({ page, api }) => {
  test.setTimeout(300_000);
  const before = await stack.shardsAlive();
  const frame = new Frame(page);
  const databases = new DatabasesPage(page);
  const database = new DatabasePage(page);

  await test.step('a wrong password shows an error, the correct one opens the overview', async () => {
    const login = new LoginPage(page);
    const { user, password } = stackInfo();
    await login.open();
    await login.signIn(user, 'not the password');
    await expect(login.error).toHaveText(/^[A-Z].*(password|credentials).*\.$/i);
    await expect(login.password).toHaveValue('');
    await login.signIn(user, password);
    await expect(frame.heading(/All 3 nodes and 12 shards are healthy/)).toBeVisible();
  });

  await test.step('the form creates a database that becomes active', async () => {
    await frame.goTo('Databases');
    await databases.create.click();
    const form = new CreatePage(page);
    await form.name.fill(NAME);
    await form.memory.fill('300');
    await form.memoryUnit.selectOption('MiB');
    await form.clusterApi.click();
    await form.shards.fill(String(SHARDS));
    await form.replication.click();
    await expect(form.plan).toContainText(
      `${SHARDS} primary shards, each with a replica on another node`,
    );
    // A fast creation can end between two polls, so record every displayed state.
    await page.evaluate(recordStates);
    await form.submit.click();
    await expect(database.state).toHaveText('Active');
    const states = await page.evaluate(() => window.shownStates);
    // On a fast machine, the database can be active before the first rendering.
    expect(states.at(-1)).toBe('Active');
    expect(states.slice(0, -1).filter((state) => !state.startsWith('Creating'))).toEqual([]);
  });
  const { uid, endpoints } = await bdbNamed(api, NAME);
  const { addr, port } = endpoints[0] ?? { addr: [], port: 0 };

  await test.step('primaries and replicas are on different nodes', async () => {
    await expect(database.cells).toHaveCount(2 * SHARDS);
    await expect(database.slotBar).toHaveAccessibleName(`16384 hash slots in ${SHARDS} ranges`);
    const placed = await database.placed();
    const pairs = new Map<string, typeof placed>();
    for (const shard of placed) {
      pairs.set(shard.slots, [...(pairs.get(shard.slots) ?? []), shard]);
    }
    expect(pairs.size).toBe(SHARDS);
    for (const pair of pairs.values()) {
      expect(pair.map(({ role }) => role).sort()).toEqual(['primary', 'replica']);
      expect(new Set(pair.map(({ node }) => node)).size, 'nodes of a pair').toBe(2);
    }
    const actual = await shardsOf(api, uid);
    for (const { uid: shard, node } of placed) {
      expect(String(actual.find((row) => row.uid === shard)?.node_uid)).toBe(node);
    }
  });

  await test.step('the number of keys is exact', async () => {
    await database.tab('Metrics');
    const commands = Array.from({ length: KEYS }, (_, index) => `SET key:${index} ${index}`);
    execFileSync('valkey-cli', ['-c', '-h', addr[0] ?? '', '-p', String(port)], {
      input: commands.join('\n'),
      stdio: ['pipe', 'ignore', 'inherit'],
    });
    // Only large charts have a legend with figures.
    await page.getByRole('button', { name: 'Show Total keys large on the right' }).click();
    await expect(database.figure('Total keys', 'Total keys', 'last')).toHaveText(String(KEYS));
  });

  await test.step('live metrics follow the traffic', async () => {
    const throughput = database.figure('Throughput', 'Reads', 'last');
    await stack.startTraffic(uid, 900);
    await expect.poll(async () => Number(await throughput.textContent())).toBeGreaterThan(200);
    const first = await throughput.textContent();
    await expect(throughput).not.toHaveText(first ?? '');
    await frame.goTo('Databases');
    const cell = await databases.cell(NAME, 'Throughput');
    await expect(cell).toHaveText(/^\d{3}\sops\/s$|^1\.\d+\sk\sops\/s$/);
    await stack.stopTraffic(uid);
    await expect(cell).toHaveText(/^0\sops\/s$/);
  });

  await test.step('deletion requires the name and removes all shards', async () => {
    await databases.row(NAME).getByRole('link', { name: NAME }).click();
    const dialog = await database.askToDelete();
    const sure = dialog.getByRole('button', { name: 'Delete database' });
    const typed = dialog.getByRole('textbox');
    await expect(sure).toBeDisabled();
    await typed.fill(NAME.slice(0, -1));
    await expect(sure).toBeDisabled();
    await typed.fill(NAME);
    await sure.click();
    await expect(databases.row('demo')).toBeVisible();
    await expect(databases.row(NAME)).toHaveCount(0);
    await expect.poll(() => stack.shardsAlive()).toBe(before);
    expect(await shardsOf(api, uid)).toEqual([]);
    expect((await api.get(`/v1/bdbs/${uid}`)).status()).toBe(404);
  });
});

declare global {
  interface Window {
    shownStates: string[];
  }
}

/** Runs in the page. A reload would discard the list. */
function recordStates(): void {
  window.shownStates = [];
  const record = () => {
    const text = document.querySelector('h1 + [data-tone]')?.textContent;
    if (text && text !== window.shownStates.at(-1)) window.shownStates.push(text);
  };
  new MutationObserver(record).observe(document.body, {
    childList: true,
    subtree: true,
    characterData: true,
  });
}
