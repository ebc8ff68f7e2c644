import { describe, expect, it } from 'vitest';
import type { Bdb, Node, Shard } from '@/api/types';
import { actionEntries } from './actions';
import { databaseEntries, nodeEntries, shardEntries } from './objects';
import { pageEntries } from './pages';
import { findEntries, MAX_SUGGESTED, suggestEntries } from './rank';

const BDBS = [
  {
    uid: 1,
    name: 'demo',
    status: 'active',
    endpoints: [{ port: 12003 }],
    tags: [{ key: 'team', value: 'web' }],
  },
] as unknown as Bdb[];
const NODES = [
  { uid: 1, addr: '10.0.0.1', hostname: 'node 2 of rack 7' },
  { uid: 2, addr: '10.0.0.2', hostname: 'alpha' },
  { uid: 21, addr: '10.0.0.21' },
] as Node[];
/** Six primaries, redis:1 to redis:6, and their replicas. */
const SHARDS = [1, 2, 3, 4, 5, 6].flatMap((pair) =>
  ['master', 'slave'].map((role, index) => ({
    uid: String(pair + 6 * index),
    bdb_uid: 1,
    node_uid: String(index + 1),
    pair,
    role,
    detailed_status: 'ok',
  })),
) as unknown as Shard[];

const ALL = [
  ...databaseEntries(BDBS),
  ...nodeEntries(NODES),
  ...actionEntries({ bdbs: BDBS, shards: SHARDS, hasNodes: true, may: () => true }),
  ...pageEntries(() => true),
  ...shardEntries(SHARDS, BDBS),
];
const found = (text: string, all = ALL) => findEntries(text, all);
const names = (text: string) => found(text).map(({ name }) => name);

describe('findEntries', () => {
  it('finds by name, address, host, port, tag and number, all words in any order', () => {
    expect(names('dem')[0]).toBe('demo');
    expect(names('ALPHA')).toEqual(['node 2']);
    expect(names('10.0.0.21')).toEqual(['node 21']);
    expect(names('7 shard demo')).toEqual(['redis:7']);
    for (const text of ['12003', 'team: web']) expect(names(text)).toEqual(['demo']);
    expect(names('nothing at all')).toEqual([]);
  });

  it('ranks exact names first, then names that start with the text', () => {
    const machines = [...nodeEntries(NODES), ...shardEntries(SHARDS.slice(6, 7), BDBS)];
    expect(
      found('node 2', machines)
        .map(({ name }) => name)
        .slice(0, 3),
    ).toEqual(['node 2', 'node 21', 'node 1']);
    expect(names('redis:1')[0]).toBe('redis:1');
  });

  it.each([
    ['create database', 'Create database'],
    ['fail over redis:3', 'Switch over redis:3…'],
    ['stop traffic of demo', 'Stop traffic to demo…'],
    ['add a node', 'Add node…'],
    ['run benchmark on demo', 'Run benchmark on demo'],
    ['start backup of demo', 'Back up demo…'],
    ['dark', 'Use the dark theme'],
    ['time zone utc', 'Show times in UTC'],
    ['settings', 'Settings'],
  ])('finds the action or page for "%s"', (text, name) => {
    expect(names(text)[0]).toBe(name);
  });

  it('shows at most three shards before entries of other kinds', () => {
    const kinds = found('demo').map(({ perShard }) => perShard === true);
    const lastOther = kinds.lastIndexOf(false);
    expect(kinds.slice(0, lastOther).filter(Boolean).length).toBeLessThanOrEqual(3);
    expect(kinds.filter(Boolean).length).toBeGreaterThan(3);
    const over = found('fail over').map(({ perShard }) => perShard === true);
    expect(over.filter(Boolean)).toHaveLength(6);
  });
});

describe('suggestEntries', () => {
  it('lists recently used entries first, and no shards, runs or actions per object', () => {
    const { recent, others } = suggestEntries(ALL, ['shard-7', 'gone', 'node-2']);
    expect(recent.map(({ id }) => id)).toEqual(['shard-7', 'node-2']);
    expect(others.some(({ needsText }) => needsText)).toBe(false);
    expect(others.map(({ id }) => id)).not.toContain('node-2');
    expect(others.map(({ name }) => name)).toContain('Create database');
  });

  it('lists actions and pages also if there are many databases', () => {
    const bdbs = Array.from({ length: 40 }, (_, uid) => ({ ...BDBS[0], uid, name: `db${uid}` }));
    const { others } = suggestEntries([...databaseEntries(bdbs as Bdb[]), ...ALL], []);
    expect(others.filter(({ kind }) => kind === 'database')).toHaveLength(MAX_SUGGESTED);
    expect(others.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['Create database', 'Settings']),
    );
  });
});
