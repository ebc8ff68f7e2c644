import { describe, expect, it } from 'vitest';
import type { Bdb, Node, Shard } from '@/api/types';
import { troubles, wellSentence } from './health';

const node = (uid: number, agent_status = 'connected') =>
  ({ uid, status: 'active', agent_status, last_seen: '2026-01-01T00:00:00Z' }) as Node;
const bdb = (status = 'active') => ({ uid: 1, name: 'demo', status }) as Bdb;
const shard = (part: Partial<Shard> = {}) =>
  ({
    uid: '1',
    bdb_uid: 1,
    role: 'master',
    status: 'active',
    detailed_status: 'ok',
    ...part,
  }) as Shard;

const texts = (...args: Parameters<typeof troubles>) =>
  troubles(...args).map(({ text }) => text.replaceAll('\u00a0', ' '));

describe('troubles', () => {
  it('is empty when all is well', () => {
    expect(texts([node(1)], [shard()], [bdb()])).toEqual([]);
  });

  it('names lost nodes with the time they were seen last', () => {
    const [lost] = troubles([node(1), node(2, 'lost')], [], []);
    expect(lost).toMatchObject({ text: 'Node 2 has not answered', banner: true });
    expect(lost?.since).toBe(Date.parse('2026-01-01T00:00:00Z'));
  });

  it('counts shards that are down and replicas that are behind', () => {
    const down = shard({ status: 'inactive', detailed_status: 'down' });
    const behind = shard({ role: 'slave', sync: { status: 'in_progress', progress: 1 } });
    expect(texts([], [down, down, behind], [bdb()])).toEqual([
      '2 shards of demo are down',
      '1 replica of demo is not in sync',
    ]);
  });

  it('expects nothing of the shards of a database that is being made', () => {
    const unborn = shard({ status: 'inactive', detailed_status: 'unknown' });
    expect(texts([], [unborn], [bdb('pending')])).toEqual([]);
  });

  it('reports failed creations', () => {
    expect(texts([], [], [bdb('creation-failed')])).toEqual(['demo could not be created']);
  });
});

describe('wellSentence', () => {
  it.each([
    [0, 0, 'No node has joined yet'],
    [1, 0, 'The node is well'],
    [3, 12, 'All 3 nodes and 12 shards are well'],
  ])('%d nodes, %d shards', (nodes, shards, text) => {
    const said = wellSentence(Array(nodes).fill(node(1)), Array(shards).fill(shard()));
    expect(said.replaceAll('\u00a0', ' ')).toBe(text);
  });
});
