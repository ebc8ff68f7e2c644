import { describe, expect, it } from 'vitest';
import type { Webhook } from '@/api/types';
import { stateOf, urlFault, wantsWord } from './words';

const HOOK: Webhook = {
  uid: 1,
  name: 'chat',
  url: 'https://hooks.example.org/a',
  is_signed: false,
  events: 'alarms',
  min_severity: 'WARNING',
  enabled: true,
  created_time: '2026-01-01T00:00:00Z',
  last_told_time: null,
  failures: 0,
  last_error: '',
  open: 0,
};

describe('stateOf', () => {
  it('says how it does', () => {
    expect(stateOf(HOOK)[1]).toBe('Ready, nothing sent yet');
    expect(stateOf({ ...HOOK, last_told_time: HOOK.created_time })[1]).toBe('All told');
    expect(stateOf({ ...HOOK, last_told_time: HOOK.created_time, open: 2 })[1]).toBe(
      '2\u00a0alarms open',
    );
    expect(stateOf({ ...HOOK, failures: 3, last_error: 'It answered 500.' })).toEqual([
      'attention',
      'Failing, 3\u00a0attempts: It answered 500.',
    ]);
    expect(stateOf({ ...HOOK, enabled: false, failures: 3 })[1]).toBe('Off');
  });
});

describe('wantsWord', () => {
  it('names events and severity', () => {
    expect(wantsWord(HOOK)).toBe('Alarms: warnings and errors');
    expect(wantsWord({ ...HOOK, events: 'all', min_severity: 'INFO' })).toBe(
      'Everything in the log',
    );
  });
});

describe('urlFault', () => {
  it('takes what a webhook can be sent to', () => {
    expect(urlFault('https://hooks.example.org/a?b=c')).toBeUndefined();
    expect(urlFault('http://127.0.0.1:9093')).toBeUndefined();
    for (const text of ['', 'example.org', 'ftp://a', 'javascript:alert(1)'])
      expect(urlFault(text)).toMatch(/Begins with/);
    expect(urlFault('https://a:b@example.org')).toMatch(/Without user/);
  });
});
