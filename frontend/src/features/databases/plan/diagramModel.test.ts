import { describe, expect, it } from 'vitest';
import { diagramOf } from './diagramModel';
import type { PairChange } from './placementDiff';

const slots = { before: [{ from: 0, to: 99 }], after: [{ from: 0, to: 99 }] };
const currentShard = (name: string, node: number, primary = false) => ({ name, node, primary });

describe('diagramOf', () => {
  it('omits pairs that do not change', () => {
    const stays: PairChange = {
      before: [currentShard('redis:1', 1, true), currentShard('redis:2', 2)],
      after: [
        { node: 1, primary: true },
        { node: 2, primary: false },
      ],
      slots,
    };
    const moves: PairChange = {
      before: [currentShard('redis:3', 1, true), currentShard('redis:4', 2)],
      after: [
        { node: 1, primary: true },
        { node: 3, primary: false },
      ],
      slots,
    };
    expect(diagramOf([stays])).toBeNull();
    const diagram = diagramOf([stays, moves]);
    expect(diagram?.nodes).toEqual([1, 2, 3]);
    const elsewhere = {
      ...stays,
      before: [currentShard('redis:9', 8, true)],
      after: [{ node: 8, primary: true }],
    };
    expect(diagramOf([elsewhere, moves])?.nodes).toEqual([1, 2, 3]);
    expect(diagram?.rows).toEqual([
      {
        id: 1,
        slots: '0–99',
        cells: [
          { node: 1, name: 'redis:3', role: 'P', newRole: undefined, state: 'stays' },
          { node: 2, name: 'redis:4', role: 'r', newRole: undefined, state: 'leaves' },
          { node: 3, name: undefined, role: 'r', newRole: undefined, state: 'comes' },
        ],
        arrows: [{ from: 2, to: 3 }],
      },
    ]);
  });

  it('shows switchovers, new pairs and removed pairs', () => {
    const handover: PairChange = {
      before: [currentShard('redis:1', 1, true), currentShard('redis:2', 2)],
      after: [
        { node: 1, primary: false },
        { node: 2, primary: true },
      ],
      slots,
    };
    const added: PairChange = {
      before: [],
      after: [{ node: 1, primary: true }],
      slots: { before: [], after: slots.after },
    };
    const removed: PairChange = {
      before: [currentShard('redis:5', 2, true)],
      after: [],
      slots: { before: slots.before, after: [] },
    };
    const rows = diagramOf([handover, added, removed])?.rows ?? [];
    expect(
      rows.map(({ cells }) => cells.map(({ role, newRole, state }) => [role, newRole, state])),
    ).toEqual([
      [
        ['P', 'r', 'stays'],
        ['r', 'P', 'stays'],
      ],
      [['P', undefined, 'comes']],
      [['P', undefined, 'leaves']],
    ]);
    expect(rows.flatMap(({ arrows }) => arrows)).toEqual([]);
  });

  it('returns null for more than 16 changed pairs', () => {
    const removed: PairChange = { before: [currentShard('redis:5', 2, true)], after: [], slots };
    expect(diagramOf(Array.from({ length: 16 }, () => removed))).not.toBeNull();
    expect(diagramOf(Array.from({ length: 17 }, () => removed))).toBeNull();
  });
});
