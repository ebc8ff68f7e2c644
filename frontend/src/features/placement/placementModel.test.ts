import { describe, expect, it } from 'vitest';
import type { Resync } from '@/api/failures/eventSpans';
import type { Node, Shard } from '@/api/types';
import { placementModel } from './placementModel';

const node = (uid: number, part: Partial<Node> = {}) =>
  ({ uid, addr: `10.0.0.${uid}`, status: 'active', agent_status: 'connected', ...part }) as Node;

const shard = (uid: number, pair: number, on: number, part: Partial<Shard> = {}) =>
  ({
    uid: String(uid),
    pair,
    node_uid: String(on),
    role: 'master',
    status: 'active',
    detailed_status: 'ok',
    assigned_slots: pair === 0 ? '0-8191' : '8192-16383',
    ...part,
  }) as Shard;

const replica = (uid: number, pair: number, on: number, part: Partial<Shard> = {}) =>
  shard(uid, pair, on, { role: 'slave', sync: { status: 'idle', progress: 0 }, ...part });

const nodes = [node(1), node(2), node(3)];

describe('placementModel', () => {
  it('shows a shard that was not observed yet as starting, not as down', () => {
    const starting: Partial<Shard> = { status: 'inactive', detailed_status: 'unknown' };
    const found = placementModel(nodes, [shard(1, 0, 1, starting), replica(3, 0, 3, starting)]);
    expect(found.pairs[0]?.cells.map(({ severity, warnings }) => [severity, warnings])).toEqual([
      ['attention', ['Starting']],
      ['attention', ['Starting']],
    ]);
    expect(found.warnings).toEqual([]);
  });

  it('pairs primaries with replicas and spans their columns', () => {
    const found = placementModel(nodes, [
      shard(2, 1, 2),
      replica(4, 1, 1),
      shard(1, 0, 1),
      replica(3, 0, 3),
    ]);
    expect(found.pairs.map(({ label }) => label)).toEqual(['0–8191', '8192–16383']);
    expect(found.pairs.map(({ first, last }) => [first, last])).toEqual([
      [0, 2],
      [0, 1],
    ]);
    expect(found.pairs[0]?.cells.map(({ role }) => role)).toEqual(['primary', 'replica']);
    expect(found.slots.every(({ owner }) => owner)).toBe(true);
    expect(found.warnings).toEqual([]);
  });

  it('shows moves between nodes, and shards that do not exist yet', () => {
    const shards = [shard(1, 0, 1), replica(3, 0, 2), shard(2, 1, 2), replica(4, 1, 3)];
    const move = { bdb_uid: 1, pair: 0, shard_uid: '3', newcomer_uid: '9', to_node_uid: 3 };
    const [pair, other] = placementModel(nodes, shards, new Map(), [move]).pairs;
    expect(pair?.moves).toEqual([{ from: 1, to: 2 }]);
    expect(pair?.plannedCells).toEqual([{ uid: '9', node: 3 }]);
    expect(pair?.cells.map(({ movesTo }) => movesTo)).toEqual([null, 3]);
    expect([other?.moves, other?.plannedCells]).toEqual([[], []]);

    const added = placementModel(nodes, [...shards, replica(9, 0, 3)], new Map(), [move]).pairs[0];
    expect(added?.plannedCells).toEqual([]);
    expect(added?.moves).toEqual([{ from: 1, to: 2 }]);
  });

  it('shows a copy that is added, and one that is removed', () => {
    const shards = [shard(1, 0, 1), replica(3, 0, 2)];
    const moves = [
      { bdb_uid: 1, pair: 0, newcomer_uid: '9', to_node_uid: 3 },
      { bdb_uid: 1, pair: 0, shard_uid: '3' },
    ];
    const pair = placementModel(nodes, shards, new Map(), moves).pairs[0];
    expect([pair?.moves, pair?.plannedCells]).toEqual([[], [{ uid: '9', node: 3 }]]);
    expect(pair?.cells.map(({ movesTo }) => movesTo)).toEqual([null, 0]);
  });

  it('warns when a primary and its replica share a node', () => {
    const found = placementModel(nodes, [shard(1, 0, 1), replica(2, 0, 1)]);
    expect(found.pairs[0]?.cells.every(({ severity }) => severity === 'attention')).toBe(true);
    expect(found.warnings[0]?.text).toContain('shares its node');
  });

  it('marks shards that are down with their reason and finds unserved slots', () => {
    const down = { status: 'inactive', detailed_status: 'down', detail: 'Killed.' } as const;
    const found = placementModel(nodes, [shard(1, 0, 1, down)]);
    expect(found.pairs[0]?.cells[0]).toMatchObject({ severity: 'broken', warnings: ['Killed.'] });
    expect(found.slots.at(-1)).toMatchObject({ from: 8192, owner: null });
    expect(found.warnings).toEqual([{ tone: 'broken', text: 'One shard is down.' }]);
  });

  it('marks replicas that are not in sync, and shards on a lost node', () => {
    const syncing = { sync: { status: 'in_progress', progress: 10 } } as const;
    const lost = [node(1), node(2, { status: 'down', agent_status: 'lost' })];
    const found = placementModel(lost, [shard(1, 0, 2), replica(2, 0, 1, syncing)]);
    expect(found.pairs[0]?.cells.map(({ warnings }) => warnings.length)).toEqual([1, 1]);
  });

  it('shows the progress of a resync', () => {
    const resync = { primary: '1', phase: 'transfer', percent: 38.7 } as Resync;
    const behind = replica(2, 0, 2, { sync: { status: 'in_progress', progress: 0 } });
    const found = placementModel(nodes, [shard(1, 0, 1), behind], new Map([['2', resync]]));
    expect(found.pairs[0]?.cells[1]).toMatchObject({
      resync: { phase: 'transfer', percent: 38.7 },
      warnings: ['Resyncing from redis:1: transfer, 38%'],
    });
  });

  it('prefers observed roles to desired roles', () => {
    const found = placementModel(nodes, [
      shard(1, 0, 1, { actual_role: 'slave' }),
      replica(2, 0, 2, { actual_role: 'master' }),
    ]);
    const roles = found.pairs[0]?.cells.map(({ shard: { uid }, role }) => [uid, role]);
    expect(roles).toEqual([
      ['2', 'primary'],
      ['1', 'replica'],
    ]);
  });

  it('adds a column for an unknown node', () => {
    expect(placementModel([], [shard(1, 0, 7)]).nodes.map(({ uid }) => uid)).toEqual([7]);
  });

  it('groups nodes by zone, with nodes without a zone last', () => {
    const zoned = [
      node(1),
      node(2, { rack_id: 'West' }),
      node(3, { rack_id: 'east' }),
      node(4, { rack_id: 'west' }),
    ];
    const found = placementModel(zoned, [shard(1, 0, 2), replica(3, 0, 3)]);
    expect(found.nodes.map(({ uid }) => uid)).toEqual([3, 2, 4, 1]);
    expect(found.zones).toEqual([
      { zone: 'east', first: 0, count: 1 },
      { zone: 'West', first: 1, count: 2 },
      { zone: '', first: 3, count: 1 },
    ]);
    expect(placementModel(nodes, []).zones).toEqual([]);
  });

  it('warns about pairs of a rack-aware database in one zone', () => {
    const warnings = (rackAware: boolean, ...zones: string[]) =>
      placementModel(
        [node(1, { rack_id: zones[0] }), node(2, { rack_id: zones[1] })],
        [shard(1, 0, 1), replica(3, 0, 2)],
        new Map(),
        [],
        rackAware,
      ).warnings.map(({ text }) => text);
    expect(warnings(true, 'a', 'b')).toEqual([]);
    expect(warnings(true, 'a', 'A')).toEqual([
      'One primary and its replica are not in different zones, although the database is rack-aware. Rebalance the database.',
    ]);
    expect(warnings(true, 'a', '')).toHaveLength(1);
    expect(warnings(false, 'a', 'a')).toEqual([]);
  });
});
