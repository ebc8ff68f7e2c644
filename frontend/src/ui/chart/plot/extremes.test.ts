import { describe, expect, it } from 'vitest';
import { prepare } from '../data/prepare';
import { describeShades, extremesOf, knownRanges } from './extremes';

const of = (...values: number[]) => Float64Array.from(values);
const series = [
  { label: 'Reads', color: 'green' },
  { label: 'Writes', color: 'blue' },
];
const columns = {
  from: 0,
  step: 60,
  rows: [of(1, 2), of(10, 20)],
  extremes: [{ low: of(0, 1), high: of(5, 6) }, undefined],
  total: { low: of(0, 0), high: of(90, 91) },
};

describe('extremesOf', () => {
  it('returns shades of visible lines with known extremes', () => {
    const lines = { kind: 'lines' as const, series };
    const shades = extremesOf(lines, prepare(columns, 'lines'), []);
    expect(shades.map(({ color, high }) => [color, high[0]])).toEqual([['green', 5]]);
    expect(extremesOf(lines, prepare(columns, 'lines'), [false, true])).toEqual([]);
  });

  it('returns one shade for the sum of a stack unless a layer is hidden', () => {
    const stack = { kind: 'stacked' as const, series };
    const [shade] = extremesOf(stack, prepare(columns, 'stacked'), []);
    expect(shade?.middle).toEqual([11, 22]);
    expect(shade?.high[1]).toBe(91);
    expect(extremesOf(stack, prepare(columns, 'stacked'), [true, false])).toEqual([]);
  });

  it('returns nothing for intervals of one second', () => {
    const seconds = prepare({ ...columns, step: 1 }, 'lines');
    expect(extremesOf({ kind: 'lines', series }, seconds, [])).toEqual([]);
  });
});

describe('describeShades', () => {
  it('describes the shade', () => {
    const [shade] = extremesOf({ kind: 'stacked', series }, prepare(columns, 'stacked'), []);
    if (!shade) throw new Error('no shade');
    expect(describeShades('stacked', [])).toBe('');
    expect(describeShades('stacked', [shade])).toContain('the dotted line is the lowest');
    expect(describeShades('lines', [shade])).toContain('from the lowest to the highest');
    const upward = { ...shade, low: of(Number.NaN, Number.NaN) };
    expect(describeShades('lines', [upward])).not.toContain('lowest');
  });
});

describe('knownRanges', () => {
  it('splits at unknown values', () => {
    expect(knownRanges([null, 1, 2, null, 0, null])).toEqual([
      [1, 3],
      [4, 5],
    ]);
    expect(knownRanges([])).toEqual([]);
  });
});
