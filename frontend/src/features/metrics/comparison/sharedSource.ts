/** A chart source that is read once per update and shared by many small charts, one series each. */
import type { ChartSource, Columns } from '@/ui/chart/types';

export interface SharedSource {
  /** Return the source of one series. */
  seriesAt: (index: number) => ChartSource;
  /**
   * Return the highest value of all series. Small charts use the same scale, so that they can be
   * compared.
   */
  max: () => number;
}

export function shareSource(
  source: ChartSource,
  window: () => { from: number; to: number },
): SharedSource {
  const listeners = new Set<() => void>();
  let stop: (() => void) | null = null;
  let cached: { from: number; to: number; columns: Columns; max: number } | null = null;

  const read = (from: number, to: number) => {
    if (cached?.from === from && cached.to === to) return cached;
    const columns = source.read(from, to);
    let max = 0;
    for (const row of columns.rows) for (const value of row) if (value > max) max = value;
    cached = { from, to, columns, max };
    return cached;
  };
  const changed = () => {
    cached = null;
    for (const listener of listeners) listener();
  };

  return {
    seriesAt: (index) => ({
      read: (from, to) => {
        const { columns } = read(from, to);
        const { rows, extremes, weights } = columns;
        const only = <T>(list: readonly T[]) => list.slice(index, index + 1);
        return {
          ...columns,
          rows: only(rows),
          extremes: extremes && only(extremes),
          weights: weights && only(weights),
        };
      },
      subscribe: (listener) => {
        listeners.add(listener);
        stop ??= source.subscribe(changed);
        return () => {
          listeners.delete(listener);
          if (listeners.size) return;
          stop?.();
          stop = null;
          cached = null;
        };
      },
    }),
    max: () => {
      const { from, to } = window();
      return read(from, to).max;
    },
  };
}
