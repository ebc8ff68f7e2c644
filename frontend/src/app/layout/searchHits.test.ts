import { describe, expect, it } from 'vitest';
import type { Bdb, LogEvent, Node, Shard } from '@/api/types';
import { eventHits, findHits } from './searchHits';

const bdbs = [{ uid: 1, name: 'demo' }] as Bdb[];
const nodes = [{ uid: 2, addr: '10.0.0.2', hostname: 'alpha' }] as Node[];
const shards = [{ uid: '7', bdb_uid: 1, node_uid: '2' }] as Shard[];
const names = (text: string) => findHits(text, bdbs, nodes, shards).map(({ name }) => name);

describe('findHits', () => {
  it('finds by name, address, host and number, all words in any order', () => {
    expect(names('dem')).toEqual(['demo', 'redis:7']);
    expect(names('ALPHA')).toEqual(['node 2']);
    expect(names('10.0')).toEqual(['node 2']);
    expect(names('7 shard demo')).toEqual(['redis:7']);
    expect(names('nothing')).toEqual([]);
  });

  it('ranks exact matches first', () => {
    const machines = [
      { uid: 1, addr: '10.0.0.1', hostname: 'node 2 of rack 7' },
      { uid: 2, addr: '10.0.0.2' },
      { uid: 21, addr: '10.0.0.21' },
    ] as Node[];
    const found = findHits('node 2', bdbs, machines, shards);
    expect(found.map(({ name }) => name)).toEqual(['node 2', 'node 21', 'node 1', 'redis:7']);
  });

  it('finds databases by port and tag', () => {
    const tagged = [
      { uid: 1, name: 'demo', endpoints: [{ port: 12003 }], tags: [{ key: 'team', value: 'web' }] },
    ] as unknown as Bdb[];
    for (const text of ['12003', 'team: web']) {
      expect(findHits(text, tagged, [], []).map(({ name }) => name)).toEqual(['demo']);
    }
  });

  it('does not list shards without a search text', () => {
    expect(names('')).toEqual(['demo', 'node 2']);
  });
});

describe('eventHits', () => {
  it('links to the time of an event, and to all matching events', () => {
    const event = { uid: 9, time_ms: 1_772_337_787_400, description: 'Node 2 went down.' };
    const [first, all] = eventHits('down', [event as LogEvent], 'utc');
    expect([first?.name, first?.detail]).toEqual(['Node 2 went down.', '2026-03-01 04:03:07 UTC']);
    expect(first?.link).toEqual({
      to: '/timeline',
      search: { from: 1_772_337_637, to: 1_772_337_937, res: undefined, event: '9' },
    });
    expect(all?.link).toEqual({ to: '/events', search: { span: 'all', text: 'down' } });
    expect(eventHits('down', [], 'utc')).toEqual([]);
  });
});
