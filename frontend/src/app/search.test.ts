import { describe, expect, it } from 'vitest';
import { EVENT_GROUPS } from '@/features/timeline/eventTypes';
import { eventSearch, frameSearch, loginSearch, timelineSearch } from './search';

describe('search', () => {
  it('keeps known ranges and omits the default from the address', () => {
    expect(frameSearch({ range: 900 }).range).toBe(900);
    expect(frameSearch({ range: '60' }).range).toBe(60);
    expect(frameSearch({ range: 300 }).range).toBeUndefined();
    expect(frameSearch({ range: 7 }).range).toBeUndefined();
  });

  it('accepts only valid zoom windows', () => {
    const [from, to] = [1_700_000_010, 1_700_000_020];
    expect(frameSearch({ from, to })).toMatchObject({ from, to });
    expect(frameSearch({ from: to, to: from }).from).toBeUndefined();
    expect(frameSearch({ from: 'x', to }).from).toBeUndefined();
    expect(frameSearch({ from, to: 577_000_000_000 }).from).toBeUndefined();
    expect(frameSearch({ from: 10, to }).from).toBeUndefined();
    expect(frameSearch({}).from).toBeUndefined();
  });

  it('rejects redirects to other sites after signing in', () => {
    expect(loginSearch({ next: '/nodes?range=60' }).next).toBe('/nodes?range=60');
    expect(loginSearch({ next: '//evil.example' }).next).toBeUndefined();
    expect(loginSearch({ next: '/\\evil.example' }).next).toBeUndefined();
    expect(loginSearch({ next: 'https://evil.example' }).next).toBeUndefined();
    // Browsers remove these characters from addresses.
    for (const removed of ['\t', '\n', '\r']) {
      expect(loginSearch({ next: `/${removed}/evil.example` }).next).toBeUndefined();
      expect(loginSearch({ next: `${removed}//evil.example` }).next).toBeUndefined();
    }
  });

  it('drops unknown filters', () => {
    expect(eventSearch({ severity: 'LOUD', source: 'node', text: 5 })).toEqual({
      span: undefined,
      severity: undefined,
      source: 'node',
      text: '5',
    });
  });
});

describe('timelineSearch', () => {
  it('accepts exactly the filters of the timeline', () => {
    for (const kind of Object.keys(EVENT_GROUPS)) expect(timelineSearch({ kind }).kind).toBe(kind);
    expect(timelineSearch({ kind: 'logins' }).kind).toBeUndefined();
  });
});
