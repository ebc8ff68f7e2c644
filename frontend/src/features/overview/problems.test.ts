import { describe, expect, it } from 'vitest';
import type { ActiveAlarm } from '@/api/alerting/health';
import type { Bdb, Node, Shard } from '@/api/types';
import { findProblems, healthyText } from './problems';

const node = (uid: number, agent_status = 'connected') =>
  ({ uid, status: 'active', agent_status, unavailable_since: '2026-01-01T00:00:00Z' }) as Node;
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

const texts = (...args: Parameters<typeof findProblems>) =>
  findProblems(...args).map(({ text }) => text.replaceAll('\u00a0', ' '));

describe('findProblems', () => {
  it('counts the downtime from when the node became unavailable, not from the last update of its object', () => {
    const down = { ...node(2), status: 'down', last_seen: '2026-01-01T00:00:00Z' } as Node;
    const unavailable_since = '2026-01-01T00:00:48Z';
    const [problem] = findProblems([{ ...down, unavailable_since }]);
    expect(problem?.since).toBe(Date.parse(unavailable_since));
  });

  it('is empty when nothing is wrong', () => {
    expect(texts([node(1)], [shard()], [bdb()])).toEqual([]);
  });

  it('reports nodes in maintenance or removal without a banner', () => {
    const [found] = findProblems([{ ...node(2), in_maintenance: true }], [], []);
    expect(found).toMatchObject({ text: 'Node 2 is in maintenance', banner: false });
    expect(texts([{ ...node(2), status: 'decommissioning' } as Node])).toEqual([
      'Node 2 is being removed',
    ]);
  });

  it('reports databases whose traffic is stopped', () => {
    const stopped = { ...bdb(), traffic_manually_disabled: true };
    expect(texts([node(1)], [shard()], [stopped])).toEqual(['Traffic to demo is stopped']);
  });

  it('reports lost agents with the time of their last report, and not their nodes as down', () => {
    const [lost] = findProblems([node(1), node(2, 'lost')], [], []);
    expect(lost).toMatchObject({
      text: 'The agent of node 2 has not responded',
      tone: 'attention',
    });
    expect(lost?.since).toBe(Date.parse('2026-01-01T00:00:00Z'));
  });

  it('reports a node that is down with the consequences, and its shards only once', () => {
    const downNode = { ...node(2, 'lost'), status: 'down' } as Node;
    const dead = shard({ node_uid: '2', status: 'inactive', detailed_status: 'down' });
    const outage = {
      uid: 10,
      node: 2,
      from: 5_000,
      to: null,
      consequences: ['2 shards failed over'],
    };
    expect(findProblems([downNode], [dead], [bdb()], [outage])).toEqual([
      {
        tone: 'broken',
        text: 'Node 2 has been down',
        since: 5_000,
        consequences: ['2 shards failed over'],
        banner: true,
        page: '/activity/incidents/10',
        link: { to: '/activity/incidents/$uid', params: { uid: '10' } },
      },
    ]);
  });

  it('reports a node that is back until its replicas are resynced', () => {
    const outage = {
      uid: 10,
      node: 2,
      from: 0,
      to: 41_000,
      consequences: ['2 replicas resyncing, 38%'],
    };
    expect(findProblems([node(2)], [], [], [outage])[0]).toMatchObject({ tone: 'attention' });
    expect(texts([node(2)], [], [], [outage])).toEqual(['Node 2 is back after 41 s']);
  });

  it('reports a single lost primary with its incident, and its shard only once', () => {
    const dead = shard({ uid: '5', node_uid: '2', status: 'inactive', detailed_status: 'down' });
    const lost = {
      uid: 10,
      node: 2,
      shard: '5',
      database: 'demo',
      from: 7,
      to: null,
      consequences: ['x'],
    };
    expect(findProblems([node(2)], [dead, shard()], [bdb()], [lost])).toEqual([
      {
        tone: 'broken',
        text: 'Primary redis:5 of demo has been down',
        since: 7,
        consequences: ['x'],
        banner: true,
        page: '/activity/incidents/10',
        link: { to: '/activity/incidents/$uid', params: { uid: '10' } },
      },
    ]);
    expect(texts([node(2)], [], [], [{ ...lost, to: 2_007 }])).toEqual([
      'Shard redis:5 of demo is back after 2 s',
    ]);
  });

  it('counts shards that are down and replicas that are not in sync', () => {
    const down = shard({ status: 'inactive', detailed_status: 'down' });
    const behind = shard({ role: 'slave', sync: { status: 'in_progress', progress: 1 } });
    expect(texts([], [down, down, behind], [bdb()])).toEqual([
      '2 shards of demo are down',
      '1 replica of demo is not in sync',
    ]);
  });

  it('ignores the shards of a database that is being created', () => {
    const notStarted = shard({ status: 'inactive', detailed_status: 'unknown' });
    expect(texts([], [notStarted], [bdb('pending')])).toEqual([]);
  });

  it('reports alarms, severe ones first, and a missing replica only once', () => {
    const alarm = (part: Partial<ActiveAlarm>): ActiveAlarm => ({
      type: 'alarm_clock',
      text: 'x',
      severity: 'WARNING',
      since: 7,
      bdb: undefined,
      node: undefined,
      ...part,
    });
    const none = alarm({ type: 'alarm_no_replica', text: 'No replica', bdb: 1 });
    const full = alarm({ type: 'alarm_storage_full', text: 'Full', severity: 'ERROR', node: 3 });
    const found = findProblems([node(1)], [shard()], [bdb()], [], [none, full]);
    expect(found).toMatchObject([
      { text: 'Full', tone: 'broken', since: 7, banner: true, link: { to: '/nodes/$uid' } },
      { text: 'No replica', tone: 'attention', banner: false },
    ]);
    const uncovered = alarm({ type: 'alarm_slots_uncovered', severity: 'ERROR', bdb: 1 });
    const outage = { uid: 10, node: 2, from: 0, to: null, consequences: [] };
    expect(findProblems([node(1)], [], [], [outage], [uncovered])[0]?.banner).toBe(false);
    expect(findProblems([node(1)], [], [], [], [uncovered])[0]?.banner).toBe(true);
    const down = shard({ status: 'inactive', detailed_status: 'down' });
    expect(texts([], [down], [bdb()], [], [none])).toEqual(['1 shard of demo is down']);
  });

  it('reports failed creations', () => {
    expect(texts([], [], [bdb('creation-failed')])).toEqual(['demo could not be created']);
  });
});

describe('healthyText', () => {
  it.each([
    [0, 0, 'No node has joined yet'],
    [1, 0, 'The node is healthy'],
    [3, 12, 'All 3 nodes and 12 shards are healthy'],
  ])('%d nodes, %d shards', (nodes, shards, text) => {
    const actual = healthyText(Array(nodes).fill(node(1)), Array(shards).fill(shard()));
    expect(actual.replaceAll('\u00a0', ' ')).toBe(text);
  });
});
