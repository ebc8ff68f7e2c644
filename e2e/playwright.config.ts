/** One Chromium and one worker. A test that fails once has a bug, or the page has; `make test` retries it and reports it. */
import { execFileSync } from 'node:child_process';
import { defineConfig } from '@playwright/test';

/** Return the path of the system's browser. Browsers are never downloaded. */
function chromium(): string {
  if (process.env.CHROMIUM) return process.env.CHROMIUM;
  return execFileSync('sh', ['-c', 'command -v chromium'], { encoding: 'utf8' }).trim();
}

export default defineConfig({
  testDir: 'tests',
  outputDir: 'results/traces',
  globalSetup: './global-setup.ts',
  workers: 1,
  fullyParallel: false,
  retries: process.env.SHARDBOARD_SECOND_CHANCE ? 1 : 0,
  forbidOnly: true,
  // `make test-all` and `make e2e ALL=1` run all tests.
  ...(process.env.ALL ? {} : { grepInvert: /@slow/ }),
  reporter: [['list'], ['./reporter.ts']],
  timeout: 180_000,
  // Generous, because the stack can share its processors with other work. A passing test never waits this long.
  expect: { timeout: 45_000 },
  use: {
    viewport: { width: 1440, height: 900 },
    // Recording all changes of live pages takes a fifth of the time, so with retries only the retry is recorded.
    trace: process.env.SHARDBOARD_SECOND_CHANCE ? 'on-first-retry' : 'retain-on-failure',
    screenshot: 'only-on-failure',
    timezoneId: 'America/New_York',
    locale: 'en-US',
    permissions: ['clipboard-read', 'clipboard-write'],
    launchOptions: {
      executablePath: chromium(),
      args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
    },
  },
  projects: [
    { name: 'pages', testMatch: '**/*.spec.ts' },
    { name: 'bench', testMatch: 'speed.bench.ts', timeout: 180_000 },
    { name: 'many', testMatch: 'many.bench.ts' },
    { name: 'run', testMatch: 'run.bench.ts' },
  ],
});
