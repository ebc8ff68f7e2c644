import { describe, expect, it } from 'vitest';
import type { Webhook } from '@/api/types';
import {
  addressError,
  eventChoices,
  messagesText,
  shownAddress,
  showsCertificate,
  stateOf,
  urlError,
  urlOf,
} from './receivers';

const HOOK: Webhook = {
  uid: 1,
  name: 'chat',
  kind: 'webhook',
  silent_until: null,
  url: 'https://hooks.example.org/a',
  is_signed: false,
  ca: '',
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
  it('returns the delivery status', () => {
    expect(stateOf(HOOK)[1]).toBe('Ready, nothing sent yet');
    expect(stateOf({ ...HOOK, last_told_time: HOOK.created_time })[1]).toBe('Up to date');
    expect(stateOf({ ...HOOK, last_told_time: HOOK.created_time, open: 2 })[1]).toBe(
      '2\u00a0alarms active',
    );
    expect(stateOf({ ...HOOK, failures: 3, last_error: 'It answered 500.' })).toEqual([
      'attention',
      'Failing, 3\u00a0attempts: It answered 500.',
    ]);
    expect(stateOf({ ...HOOK, enabled: false, failures: 3 })[1]).toBe('Off');
    expect(stateOf({ ...HOOK, silent_until: '2026-01-01T01:00:00Z' })[1]).toBe('Muted');
  });
});

describe('messagesText', () => {
  it('returns events and severity', () => {
    expect(messagesText(HOOK)).toBe('Alarms: warnings and errors');
    expect(messagesText({ ...HOOK, events: 'all', min_severity: 'INFO' })).toBe('All events');
    expect(messagesText({ ...HOOK, events: 'audit', min_severity: 'INFO' })).toBe('Audit log');
  });
});

describe('choices of a receiver', () => {
  it('depend on the type', () => {
    const of = (kind: Webhook['kind']) => eventChoices(kind).map(({ value }) => value);
    expect(of('alertmanager')).toEqual(['alarms']);
    expect(of('email')).toEqual(['alarms', 'all']);
    expect(of('syslog')).toEqual(['alarms', 'all', 'audit']);
  });

  it('include trusted CAs if the receiver uses TLS', () => {
    expect(showsCertificate('syslog', 'syslog+tls://a')).toBe(true);
    expect(showsCertificate('syslog', 'syslog+tcp://a')).toBe(false);
    expect(showsCertificate('webhook', 'http://a')).toBe(false);
    expect(showsCertificate('alertmanager', ' https://a')).toBe(true);
    expect(showsCertificate('email', 'https://a')).toBe(false);
  });
});

describe('syslog address', () => {
  it('consists of a host and a port', () => {
    for (const text of ['syslog+tls://siem.example.org', 'syslog+tcp://10.0.0.1:601/'])
      expect(addressError('syslog', text)).toBeUndefined();
    for (const text of ['', 'https://a', 'syslog://a', 'syslog+tls://'])
      expect(addressError('syslog', text)).toMatch(/must start with syslog/);
    for (const text of ['syslog+tls://a/b', 'syslog+tls://u:p@a', 'syslog+tls://a?b'])
      expect(addressError('syslog', text)).toBe('The address must contain only a host and a port');
  });
});

describe('email address', () => {
  it('is entered without its scheme', () => {
    expect(urlOf('email', ' ann@example.org,bob@example.org ')).toBe(
      'mailto:ann@example.org,bob@example.org',
    );
    expect(shownAddress('mailto:ann@example.org')).toBe('ann@example.org');
    expect(urlOf('webhook', HOOK.url)).toBe(HOOK.url);
  });

  it('can be a list', () => {
    expect(addressError('email', 'ann@example.org, bob@example.org')).toBeUndefined();
    for (const text of ['', 'ann', 'ann@example.org,', 'a@b;c@d'])
      expect(addressError('email', text)).toMatch(/commas/);
    expect(addressError('alertmanager', 'ann@example.org')).toMatch(/must start with/);
  });
});

describe('urlError', () => {
  it('accepts only HTTP addresses without credentials', () => {
    expect(urlError('https://hooks.example.org/a?b=c')).toBeUndefined();
    expect(urlError('http://127.0.0.1:9093')).toBeUndefined();
    for (const text of ['', 'example.org', 'ftp://a', 'javascript:alert(1)'])
      expect(urlError(text)).toMatch(/must start with/);
    expect(urlError('https://a:b@example.org')).toMatch(/must not contain a user/);
  });
});
