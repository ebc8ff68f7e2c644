/** One source read once per update, handed out series by series to many small charts. */
import type { ChartSource, Columns } from '@/ui/chart/types';

export interface Shared {
  of: (index: number) => ChartSource;
  /** Highest value of all series: small charts with one scale can be compared. */
  max: () => number;
}

export function share(source: ChartSource, window: () => { from: number; to: number }): Shared {
  const listeners = new Set<() => void>();
  let stop: (() => void) | null = null;
  let kept: { from: number; to: number; columns: Columns; max: number } | null = null;

  const read = (from: number, to: number) => {
    if (kept?.from === from && kept.to === to) return kept;
    const columns = source.read(from, to);
    let max = 0;
    for (const row of columns.rows) for (const value of row) if (value > max) max = value;
    kept = { from, to, columns, max };
    return kept;
  };
  const changed = () => {
    kept = null;
    for (const listener of listeners) listener();
  };

  return {
    of: (index) => ({
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
          kept = null;
        };
      },
    }),
    max: () => {
      const { from, to } = window();
      return read(from, to).max;
    },
  };
}
