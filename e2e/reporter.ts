/** Reporter for scripts/run-tests: failures, tests that passed only on retry, and the duration of each test. */
import { writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import type { FullConfig, Reporter, Suite, TestCase, TestError } from '@playwright/test/reporter';

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
        all
          .filter((test) => test.outcome() === outcome)
          .map((test) => [name(test), failureText(test)]),
      );
    const times = Object.fromEntries(
      all
        .filter((test) => test.results.length > 0 && !test.tags.includes('@slow'))
        .map((test) => [name(test), { wall: seconds(test) }]),
    );
    const results = { failed: of('unexpected'), flaky: of('flaky'), times };
    writeFileSync(`${directory}/browser.results.json`, JSON.stringify(results));
  }
}

function seconds(test: TestCase): number {
  return Math.max(...test.results.map((result) => result.duration)) / 1000;
}

function name(test: TestCase): string {
  return test.titlePath().filter(Boolean).join(' › ');
}

/** Return one line per failure of a test: location and expectation. */
function failureText(test: TestCase): string {
  const errors = test.results.flatMap((result) => result.errors);
  return errors.map(line).join('\n') || 'the test did not end';
}

function line({ message, location }: TestError): string {
  const text = stripVTControlCharacters(message ?? 'no reason').replace(/\s+/g, ' ');
  const where = location ? `${basename(location.file)}:${location.line}: ` : '';
  return where + text.slice(0, 250);
}
