import { describe, expect, it } from 'vitest';
import type { Action, Node, Shard } from '@/api/types';
import { event, OUTAGE_EVENTS, resync, T0 } from '../outageEvents.fixture';
import { lanesOf } from './lanes';

const NODES = [1, 2, 3].map((uid) => ({ uid, addr: `10.0.0.${uid}` }) as Node);
const HOMES = { 2: 2, 5: 2, 7: 2, 10: 2, 8: 1, 11: 3 } as const;
const SHARDS = Object.entries(HOMES).map(
  ([uid, node]) => ({ uid, node_uid: String(node), role: 'slave' }) as Shard,
);
const lanes = (part: Partial<Parameters<typeof lanesOf>[0]> = {}) =>
  lanesOf({
    events: OUTAGE_EVENTS,
    actions: [],
    nodes: NODES,
    shards: SHARDS,
    databases: new Map([[1, 'demo']]),
    expanded: new Set(),
    gap: 5_000,
    ...part,
  });
const named = (id: string, found = lanes()) => found.find((lane) => lane.id === id);

describe('lanesOf', () => {
  it('returns a lane for the cluster, each node and the actions', () => {
    expect(lanes().map(({ id }) => id)).toEqual([
      'cluster',
      'node 1',
      'node 2',
      'node 3',
      'actions',
    ]);
    expect(named('cluster')?.items.map(({ id }) => id)).toEqual(['20']);
  });

  it('collapses shards into their node: nearby instants as one mark, resyncs as one bar', () => {
    const items = named('node 2')?.items ?? [];
    expect(items.map(({ shape, id }) => `${shape} ${id}`)).toEqual([
      'mark 9,11,12',
      'bar 10',
      'mark 13',
      'bar 14,15,16,17',
    ]);
    expect(items[3]).toMatchObject({ text: '4 resyncs', from: T0 + 42_000, to: T0 + 53_500 });
    expect(items[0]?.tone).toBe('attention');
  });

  it('shows a failover on the nodes of the lost primary and the promoted replica', () => {
    expect(named('node 1')?.items.map(({ id }) => id)).toEqual(['11']);
    expect(named('node 3')?.items.map(({ id }) => id)).toEqual(['12', '21']);
  });

  it('expands a node into its shards with events', () => {
    const found = lanes({ expanded: new Set([2]) });
    expect(found.filter(({ depth }) => depth === 1).map(({ title }) => title)).toEqual([
      'redis:2',
      'redis:5',
      'redis:7',
      'redis:10',
    ]);
    expect(named('node 2', found)?.items.map(({ id }) => id)).toEqual(['9', '10', '13']);
    expect(named('2', found)?.items.map(({ id }) => id)).toEqual(['11', '14']);
  });

  it('places overlapping spans in separate rows below the marks', () => {
    const again = event(30, 10, { type: 'node_failed', node_uid: 2, ended_ms: T0 + 60_000 });
    const lane = named('node 2', lanes({ events: [...OUTAGE_EVENTS, again] }));
    expect(lane?.rows).toBe(3);
    expect(lane?.items.find(({ id }) => id === '30')?.row).toBe(2);
  });

  it('shows the progress of running resyncs and actions', () => {
    const running = resync(14, 2, 42, { open: true, ended_ms: undefined, percent: 38.9 });
    const bar = named('node 2', lanes({ events: [running] }))?.items[0];
    expect(bar).toMatchObject({ to: null, percent: 38.9, text: 'Resync 38%' });
    const action = {
      action_uid: 'a',
      name: 'SMX',
      status: 'running',
      progress: 50,
      creation_time: 1,
    };
    const item = named('actions', lanes({ actions: [action as Action] }))?.items[0];
    expect(item).toMatchObject({ id: 'action:a', to: null, text: 'SMX 50%' });
  });

  it('keeps the lane of a removed node', () => {
    expect(lanes({ nodes: [] }).map(({ detail }) => detail)).toContain('removed');
  });
});
