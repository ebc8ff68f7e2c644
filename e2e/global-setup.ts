/** Starts the stack once for all tests. The returned function stops it, also after a failure or Ctrl-C. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { isExternalStack, publish, type StackInfo } from './stack.ts';

const START_WITHIN_MS = 300_000;
const root = fileURLToPath(new URL('..', import.meta.url));

export default async function start(): Promise<() => Promise<void>> {
  if (isExternalStack()) return async () => undefined;
  const python = `${root}.venv/bin/python`;
  if (!existsSync(python)) throw new Error('.venv does not exist. Run `make setup-tests` first.');
  // The stack ends when its standard input closes, which happens even if this process is killed.
  const child = spawn(python, ['e2e/stack.py'], { cwd: root, stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const stop = async () => {
    child.kill('SIGTERM');
    await ended;
  };
  const line = await Promise.race([
    createInterface(child.stdout)[Symbol.asyncIterator]().next(),
    sleep(START_WITHIN_MS, undefined, { ref: false }),
  ]);
  if (!line?.value) {
    await stop();
    throw new Error('The stack did not start. Its last output is above.');
  }
  publish(JSON.parse(line.value) as StackInfo);
  return stop;
}
