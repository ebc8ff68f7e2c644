/** Tells scripts/run-tests what failed, and what passed only when it was run again. */
import { writeFileSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';
import type { FullConfig, Reporter, Suite, TestCase } from '@playwright/test/reporter';

export default class Results implements Reporter {
  private suite: Suite | undefined;

  onBegin(_config: FullConfig, suite: Suite): void {
    this.suite = suite;
  }

  onEnd(): void {
    const directory = process.env.SHARDBOARD_TEST_RESULTS;
    if (!directory || !this.suite) return;
    const all = this.suite.allTests();
    const of = (outcome: string) =>
      Object.fromEntries(
        all.filter((test) => test.outcome() === outcome).map((test) => [name(test), said(test)]),
      );
    const results = { failed: of('unexpected'), flaky: of('flaky') };
    writeFileSync(`${directory}/browser.results.json`, JSON.stringify(results));
  }
}

function name(test: TestCase): string {
  return test.titlePath().filter(Boolean).join(' › ');
}

/** Of its first failure, the beginning: what follows are lines of the test and calls. */
function said(test: TestCase): string {
  const error = test.results.flatMap((result) => result.errors)[0];
  return stripVTControlCharacters(error?.message ?? 'it did not end').slice(0, 1500);
}
