import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Answer } from '@/api/access/handover';
import type { HandoverConsole } from '@/api/types';
import { CONFIRM_MS, ConsoleSwitch, consoleName, NOTICE_MS, RENEW_MS } from './consoleSwitch';

const at = (uid: string, current = false): HandoverConsole => ({
  uid,
  host: uid,
  origin: `https://${uid}:9443`,
  running: true,
  current,
});
const CONSOLES = [at('a', true), at('b'), at('c')];
const READY: Answer = { ready: true, leads: false };
const LEADS: Answer = { ready: true, leads: true };

async function setUp(origin = 'https://a:9443', consoles = CONSOLES) {
  const answers = new Map<string, Answer>();
  const page = {
    tokens: 0,
    fails: false,
    hasInput: false,
    left: [] as (readonly [string, string, string | null])[],
  };
  const consoleSwitch = new ConsoleSwitch({
    origin,
    fetchHandover: async () => {
      if (page.fails) throw new Error('unreachable');
      page.tokens += 1;
      return { token: `token ${page.tokens}`, seconds: 300, consoles };
    },
    check: async (url) => answers.get(url) ?? null,
    hasInput: () => page.hasInput,
    leave: (target, lost, token) => page.left.push([target.uid, lost.uid, token]),
  });
  consoleSwitch.start();
  await vi.advanceTimersByTimeAsync(5_000);
  return { page, answers, consoleSwitch };
}

const search = async (consoleSwitch: ConsoleSwitch) => {
  const done = consoleSwitch.onLost();
  await vi.advanceTimersByTimeAsync(CONFIRM_MS);
  return done;
};

describe('ConsoleSwitch', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('sends no token to a console that does not run, even if its address answers', async () => {
    const stopped = { ...at('c'), running: false };
    const { consoleSwitch, answers } = await setUp('https://a:9443', [at('a', true), stopped]);
    answers.set('https://c:9443', LEADS);
    await search(consoleSwitch);
    expect(consoleSwitch.state.get()).toMatchObject({ phase: 'none' });
  });

  it('continues on the leading console after a notice', async () => {
    const { consoleSwitch, page, answers } = await setUp();
    answers.set('https://b:9443', READY).set('https://c:9443', LEADS);
    const done = search(consoleSwitch);
    await vi.advanceTimersByTimeAsync(CONFIRM_MS);
    expect(consoleSwitch.state.get()).toMatchObject({ phase: 'leaving', target: { uid: 'c' } });
    expect(page.left).toEqual([]);
    await vi.advanceTimersByTimeAsync(NOTICE_MS);
    await done;
    expect(page.left).toEqual([['c', 'a', 'token 1']]);
  });

  it('continues on a console that responds but does not lead', async () => {
    const { consoleSwitch, page, answers } = await setUp();
    answers.set('https://b:9443', { ready: false, leads: false }).set('https://c:9443', READY);
    const done = search(consoleSwitch);
    await vi.advanceTimersByTimeAsync(CONFIRM_MS + NOTICE_MS);
    await done;
    expect(page.left).toEqual([['c', 'a', 'token 1']]);
  });

  it('stays if the own console responds, also only the second time', async () => {
    const { consoleSwitch, page, answers } = await setUp();
    answers.set('https://b:9443', LEADS).set('https://a:9443', READY);
    await search(consoleSwitch);
    answers.delete('https://a:9443');
    const done = consoleSwitch.onLost();
    await vi.advanceTimersByTimeAsync(CONFIRM_MS / 2);
    answers.set('https://a:9443', { ready: false, leads: false });
    await vi.advanceTimersByTimeAsync(CONFIRM_MS + NOTICE_MS);
    await done;
    expect(consoleSwitch.state.get().phase).toBe('none');
    expect(page.left).toEqual([]);
  });

  it('stays if the stream is back during the notice', async () => {
    const { consoleSwitch, page, answers } = await setUp();
    answers.set('https://b:9443', READY);
    const done = search(consoleSwitch);
    await vi.advanceTimersByTimeAsync(CONFIRM_MS);
    consoleSwitch.onConnected();
    await vi.advanceTimersByTimeAsync(NOTICE_MS);
    await done;
    expect(consoleSwitch.state.get().phase).toBe('none');
    expect(page.left).toEqual([]);
  });

  it('stays if no other console responds, and searches again at the next attempt', async () => {
    const { consoleSwitch, page, answers } = await setUp();
    await search(consoleSwitch);
    expect(consoleSwitch.state.get().phase).toBe('none');
    answers.set('https://b:9443', READY);
    const done = search(consoleSwitch);
    await vi.advanceTimersByTimeAsync(CONFIRM_MS + NOTICE_MS);
    await done;
    expect(page.left).toHaveLength(1);
  });

  it('only retries its own origin behind a load balancer', async () => {
    const { consoleSwitch, page, answers } = await setUp('https://console.example.org');
    answers.set('https://b:9443', READY);
    await search(consoleSwitch);
    await vi.advanceTimersByTimeAsync(CONFIRM_MS + NOTICE_MS);
    expect(consoleSwitch.state.get().phase).toBe('none');
    expect(page.left).toEqual([]);
  });

  it('asks before it leaves a page with input', async () => {
    const { consoleSwitch, page, answers } = await setUp();
    answers.set('https://b:9443', READY);
    page.hasInput = true;
    await search(consoleSwitch);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(consoleSwitch.state.get()).toMatchObject({ phase: 'asking', target: { uid: 'b' } });
    expect(page.left).toEqual([]);
    await consoleSwitch.continueNow();
    expect(page.left).toEqual([['b', 'a', 'token 1']]);
  });

  it('asks if the user starts to fill in a form during the notice', async () => {
    const { consoleSwitch, page, answers } = await setUp();
    answers.set('https://b:9443', READY);
    const done = search(consoleSwitch);
    await vi.advanceTimersByTimeAsync(CONFIRM_MS);
    page.hasInput = true;
    await vi.advanceTimersByTimeAsync(NOTICE_MS);
    await done;
    expect(consoleSwitch.state.get().phase).toBe('asking');
    expect(page.left).toEqual([]);
  });

  it('stays if the other console no longer responds when the user decides', async () => {
    const { consoleSwitch, page, answers } = await setUp();
    answers.set('https://b:9443', READY);
    page.hasInput = true;
    await search(consoleSwitch);
    answers.delete('https://b:9443');
    await consoleSwitch.continueNow();
    expect(consoleSwitch.state.get().phase).toBe('none');
    expect(page.left).toEqual([]);
  });

  it('renews the token, and sends no expired one', async () => {
    const { consoleSwitch, page, answers } = await setUp();
    answers.set('https://b:9443', READY);
    page.hasInput = true;
    await vi.advanceTimersByTimeAsync(RENEW_MS);
    expect(page.tokens).toBe(2);
    page.fails = true;
    await search(consoleSwitch);
    await consoleSwitch.continueNow();
    await vi.advanceTimersByTimeAsync(3 * RENEW_MS);
    consoleSwitch.onConnected();
    await search(consoleSwitch);
    await consoleSwitch.continueNow();
    expect(page.left.map(([, , token]) => token)).toEqual(['token 2', null]);
  });

  it('stops with the page', async () => {
    const { consoleSwitch, page, answers } = await setUp();
    answers.set('https://b:9443', READY);
    consoleSwitch.stop();
    await search(consoleSwitch);
    await vi.advanceTimersByTimeAsync(3 * RENEW_MS);
    expect(page.tokens).toBe(1);
    expect(page.left).toEqual([]);
  });
});

describe('consoleName', () => {
  it('is the host, with the port if several consoles have it', () => {
    const [a, b] = [at('a'), at('b')];
    expect(consoleName(a, [a, b])).toBe('a');
    expect(consoleName(a, [a, { ...b, host: 'a' }])).toBe('a:9443');
  });
});
