import { describe, expect, it } from 'vitest';
import { assignRows, clusterTimes, mergeOverlapping } from './timelineLayout';

describe('timeline layout', () => {
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
