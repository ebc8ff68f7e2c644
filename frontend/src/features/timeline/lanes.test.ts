import { describe, expect, it } from 'vitest';
import type { Action, Node, Shard } from '@/api/types';
import { assignRows, clusterTimes, mergeOverlapping } from '@/lib/pack';
import { toCsv } from './export';
import { filterTimelineEvents } from './filter';
import { lanesOf } from './lanes';
import { event, OUTAGE_EVENTS, resync, T0 } from './story.fixture';
import { ticksOf } from './ticks';

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
    expect(bar).toMatchObject({ to: null, percent: 38.9, text: 'Resync 38\u00a0%' });
    const action = {
      action_uid: 'a',
      name: 'SMX',
      status: 'running',
      progress: 50,
      creation_time: 1,
    };
    const item = named('actions', lanes({ actions: [action as Action] }))?.items[0];
    expect(item).toMatchObject({ id: 'action:a', to: null, text: 'SMX 50\u00a0%' });
  });

  it('keeps the lane of a removed node', () => {
    expect(lanes({ nodes: [] }).map(({ detail }) => detail)).toContain('removed');
  });
});

describe('pack', () => {
  it('assigns rows first fit and extends open spans to the end', () => {
    const bars = [
      { from: 0, to: null },
      { from: 1, to: 2 },
      { from: 3, to: 9 },
      { from: 4, to: 5 },
    ];
    expect(assignRows(bars, 1)).toEqual([0, 1, 1, 2]);
  });

  it('reserves a minimum width for short spans', () => {
    expect(
      assignRows(
        [
          { from: 0, to: 1 },
          { from: 2, to: 3 },
        ],
        5,
      ),
    ).toEqual([0, 1]);
  });

  it('merges instants closer than the width of a mark, and overlapping spans', () => {
    expect(clusterTimes([0, 1, 4, 5, 20], 5)).toEqual([[0, 1, 2], [3], [4]]);
    const joined = mergeOverlapping([
      { from: 3, to: 5 },
      { from: 0, to: 3 },
      { from: 9, to: null },
      { from: 12, to: 13 },
    ]);
    expect(joined.map(({ from, to }) => [from, to])).toEqual([
      [0, 5],
      [9, null],
    ]);
  });
});

describe('filterTimelineEvents', () => {
  const uids = (filter: Parameters<typeof filterTimelineEvents>[1]) =>
    filterTimelineEvents(
      OUTAGE_EVENTS,
      filter,
      (shard) => HOMES[Number(shard) as keyof typeof HOMES],
    ).map(({ uid }) => uid);

  it('applies all filters that are set', () => {
    expect(uids({ severity: 'WARNING' })).toEqual([10, 11, 12, 21]);
    expect(uids({ kind: 'failovers' })).toEqual([11, 12]);
    expect(uids({ bdb: 2 })).toEqual([9, 10, 13, 20, 21]);
    expect(uids({ node: 1 })).toEqual([11]);
    expect(uids({ node: 1, kind: 'resyncs' })).toEqual([]);
  });
});

describe('ticksOf', () => {
  it('uses a round step and extends beyond both ends', () => {
    const { step, at } = ticksOf(1003, 1303, 8, 'utc');
    expect(step).toBe(60);
    expect(at[0]).toBe(960);
    expect(at.at(-1)).toBeGreaterThan(1303);
  });
});

describe('toCsv', () => {
  it('writes one line per event with the duration of spans in seconds', () => {
    const [head, first] = toCsv([resync(14, 2, 42, { description: 'a "b", c' })]).split('\n');
    expect(head).toMatch(/^uid,time,ended,seconds/);
    expect(first).toBe(
      '14,2026-03-01T04:00:42.000Z,2026-03-01T04:00:52.000Z,10,resync,INFO,2,1,2,,system,"a ""b"", c"',
    );
  });
});
