import { describe, expect, it } from 'vitest';
import type { LossOutcome } from '@/api/types';
import { keyOf, lineOf, MAX_NODES, shownLosses, summaryOf, titleOf } from './redundancyRows';

const loss = (part: Partial<LossOutcome>): LossOutcome => ({
  rack_id: '',
  nodes: [1],
  is_largest: false,
  effect: 'none',
  description: '',
  shards: 1,
  memory: 1,
  unavailable_pairs: 0,
  unavailable_databases: [],
  not_rebuilt: 0,
  overbooked: 0,
  ...part,
});

describe('shownLosses', () => {
  it('shows the largest node, nodes with data that has no copy, and all zones', () => {
    const losses = [
      loss({ nodes: [1] }),
      loss({ nodes: [2], effect: 'unavailable' }),
      loss({ nodes: [3], is_largest: true }),
      loss({ rack_id: 'a', nodes: [1, 2], effect: 'fewer_copies' }),
    ];
    expect(shownLosses(losses).map(titleOf)).toEqual(['node 3 (largest)', 'node 2', 'zone a']);
  });

  it('limits the number of nodes', () => {
    const losses = Array.from({ length: 30 }, (_, index) =>
      loss({ nodes: [index], effect: 'unavailable', is_largest: index === 7 }),
    );
    expect(shownLosses(losses)).toHaveLength(MAX_NODES + 1);
    expect(new Set(losses.map(keyOf)).size).toBe(30);
  });
});

describe('summaryOf', () => {
  it.each([
    [true, null, 'If any one node is lost, all data stays available.'],
    [false, null, 'If some nodes are lost, data becomes unavailable.'],
    [true, true, 'If any one node or zone is lost, all data stays available.'],
    [
      true,
      false,
      'If any one node is lost, all data stays available. If some zones are lost, data becomes unavailable.',
    ],
    [false, false, 'If some nodes or zones are lost, data becomes unavailable.'],
  ])('describes node %s and zone %s', (node, zone, text) => {
    expect(summaryOf(node, zone)).toBe(text);
  });
});

describe('lineOf', () => {
  const line = (losses: LossOutcome[], survives_node = true) =>
    lineOf({ losses, survives_node, survives_zone: null } as Parameters<typeof lineOf>[0]);

  it('combines the summary with what is missing after the loss of the largest node', () => {
    expect(line([])).toBeUndefined();
    expect(line([loss({ is_largest: true })])).toMatchObject({
      tone: 'ok',
      text: 'If any one node is lost, all data stays available.',
    });
    expect(line([loss({ is_largest: true, effect: 'overbooked' })])).toMatchObject({
      tone: 'attention',
      text: 'If any one node is lost, all data stays available. Without the largest node, memory is not sufficient.',
    });
    expect(line([loss({ is_largest: true, effect: 'unavailable' })], false)).toMatchObject({
      tone: 'attention',
      text: 'If some nodes are lost, data becomes unavailable.',
    });
  });
});
