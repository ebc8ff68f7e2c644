import { describe, expect, it, vi } from 'vitest';
import type { Columns } from '@/ui/chart/types';
import { shareSource } from './sharedSource';

describe('shareSource', () => {
  it('reads the source once for all series, and again after an update', () => {
    const rows = [Float64Array.of(1, 2), Float64Array.of(7, Number.NaN)];
    const extremes = [
      undefined,
      { low: rows[1] ?? rows[0], high: rows[1] ?? rows[0] },
    ] as Columns['extremes'];
    const read = vi.fn((from: number) => ({ from, step: 1, rows, extremes }));
    const update = { notify: () => undefined as unknown };
    const stop = vi.fn();
    const shared = shareSource(
      {
        read,
        subscribe: (listener) => {
          update.notify = listener;
          return stop;
        },
      },
      () => ({ from: 0, to: 1 }),
    );
    const draws = [vi.fn(), vi.fn()];
    const stops = draws.map((draw, index) => shared.seriesAt(index).subscribe(draw));

    expect(shared.seriesAt(1).read(0, 1).rows).toEqual([rows[1]]);
    expect(shared.seriesAt(0).read(0, 1).rows).toEqual([rows[0]]);
    expect(shared.seriesAt(1).read(0, 1).extremes?.[0]?.high).toEqual(rows[1]);
    expect(shared.seriesAt(0).read(0, 1).extremes).toEqual([undefined]);
    expect(shared.max()).toBe(7);
    expect(read).toHaveBeenCalledTimes(1);

    update.notify();
    for (const draw of draws) expect(draw).toHaveBeenCalledTimes(1);
    shared.seriesAt(0).read(0, 1);
    expect(read).toHaveBeenCalledTimes(2);

    for (const end of stops) end();
    expect(stop).toHaveBeenCalledTimes(1);
  });
});
