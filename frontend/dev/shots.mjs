/** Screenshots and axe of every page: node dev/shots.mjs <base> <prefix> [only] */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';
const [base, prefix, only = '', modes = 'light,dark', sizes = '1440x900'] = process.argv.slice(2);
const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const pages = { login: '/login', overview: '/', databases: '/databases', new: '/databases/new', metrics: '/databases/1/metrics', mshards: '/databases/1/metrics?by=shards', mtop: '/databases/1/metrics?by=shards&view=top', shards: '/databases/1/shards', panel: '/databases/1/shards?shard=3', config: '/databases/1/configuration', dbevents: '/databases/1/events', nodes: '/nodes', node: '/nodes/1', events: '/events' };
const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox'] });
for (const mode of modes.split(',')) for (const size of sizes.split(',')) {
  const [width, height] = size.split('x').map(Number);
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: mode, bypassCSP: false });
  const page = await context.newPage();
  page.on('console', (m) => ['error', 'warning'].includes(m.type()) && console.log('console', m.type(), m.text()));
  page.on('pageerror', (e) => console.log('pageerror', e.message, e.stack?.split('\n')[1]));
  await page.goto(`${base}/login`);
  for (const [name, path] of Object.entries(pages)) {
    if (name !== 'login') {
      if (page.url().includes('/login')) {
        await page.getByLabel('User').fill('admin@shardboard.local');
        await page.getByLabel('Password', { exact: true }).fill(process.env.PW || 'secret');
        await page.getByRole('button', { name: 'Sign in' }).click();
        await page.waitForURL((u) => !u.pathname.startsWith('/login'));
      }
      if (only && !only.split(',').includes(name)) continue;
      await page.goto(base + path);
      await page.waitForTimeout(2800);
    } else if (only && !only.split(',').includes(name)) continue;
    await page.screenshot({ path: `/tmp/shots/${prefix}-${name}-${mode}-${width}.png` });
    const cdp = await context.newCDPSession(page);
    await cdp.send('Page.setBypassCSP', { enabled: false });
    const found = await page.evaluate(`(() => { ${axeSource}; return axe.run(); })()`).catch((e) => ({ violations: [{ id: String(e).slice(0, 200), nodes: [] }] }));
    for (const v of found.violations) console.log(name, mode, v.impact, v.id, v.nodes.length, v.nodes.slice(0, 3).map((n) => n.target.join(' ') + ' :: ' + (n.any[0]?.message || n.failureSummary || '').slice(0, 160)).join(' | '));
  }
  await context.close();
}
await browser.close();
