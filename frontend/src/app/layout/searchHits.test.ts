import { describe, expect, it } from 'vitest';
import type { Bdb, Node, Shard } from '@/api/types';
import { findHits } from './searchHits';

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

  it('puts what is called so first', () => {
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

  it('does not offer shards before anything is typed', () => {
    expect(names('')).toEqual(['demo', 'node 2']);
  });
});
