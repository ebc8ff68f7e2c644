import { describe, expect, it } from 'vitest';
import type { RamCurve } from '@/api/types';
import { nearestRamPoint, ramAlternatives, ramAxisPosition } from './ramEstimate';

const cost = { ram: 0, flash: 0, nodes: 1, amount: null };

const curve: RamCurve = {
  bdb_uid: 1,
  ram_size: 300,
  expected: 0.4,
  measured: 0.38,
  points: Array.from({ length: 10 }, (_, step) => ({
    ram_size: 100 * (step + 1),
    hit_ratio: Math.min(1, 0.1 * (step + 2)),
    nodes: step + 1,
    amount: 100 * step,
  })),
  uses: 10_000,
  detail: '',
  costs: {
    currency: 'EUR',
    node_ram: 0,
    node_flash: 0,
    ram_only: cost,
    now: cost,
    node_factor: 1,
    saving: null,
  },
};

describe('nearestRamPoint', () => {
  it('returns the nearest point', () => {
    const ratios = [0, 140, 160, 5_000].map(
      (size) => nearestRamPoint(curve.points, size)?.hit_ratio,
    );
    expect(ratios).toEqual([0.2, 0.2, expect.closeTo(0.3), 1]);
    expect(nearestRamPoint([], 100)).toBeUndefined();
  });
});

describe('ramAlternatives', () => {
  it('returns sizes below and above the current one, and the maximum', () => {
    const choices = ramAlternatives(curve).map(({ size, ratio, change }) => [size, ratio, change]);
    const close = (row: number[]) => row.map((value) => expect.closeTo(value));
    expect(choices).toEqual(
      [
        [150, 0.2, -0.2],
        [450, 0.5, 0.1],
        [600, 0.7, 0.3],
        [900, 1, 0.6],
        [1_000, 1, 0.6],
      ].map(close),
    );
  });

  it('contains nodes and cost of the nearest point', () => {
    expect(ramAlternatives(curve).map(({ nodes, amount }) => [nodes, amount])).toEqual([
      [1, 0],
      [4, 300],
      [6, 500],
      [9, 800],
      [10, 900],
    ]);
  });

  it('returns no sizes without data', () => {
    expect(ramAlternatives({ ...curve, points: [], expected: null })).toEqual([]);
  });
});

describe('ramAxisPosition', () => {
  it('maps zero to 0 and the full size of the database to 1', () => {
    expect([0, 500, 1_000].map((size) => ramAxisPosition(curve.points, size))).toEqual([0, 0.5, 1]);
  });
});
