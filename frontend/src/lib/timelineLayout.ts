/** Layout of timeline lanes: overlapping spans go into separate rows, and close instants are combined into one mark. Pure. */

export interface TimeSpan {
  from: number;
  /** Null for an open span. */
  to: number | null;
}

/** Return the row of each span: the first free row, in the order of start times. */
export function assignRows(bars: readonly TimeSpan[], gap: number): number[] {
  const order = bars
    .map((_, index) => index)
    .sort((a, b) => startTime(bars, a) - startTime(bars, b));
  const ends: number[] = [];
  const rows: number[] = new Array(bars.length).fill(0);
  for (const index of order) {
    const bar = bars[index];
    if (!bar) continue;
    const free = ends.findIndex((end) => end <= bar.from);
    const row = free === -1 ? ends.length : free;
    // A short span needs a minimum width to be visible and clickable.
    ends[row] = bar.to === null ? Number.POSITIVE_INFINITY : Math.max(bar.to, bar.from + gap);
    rows[index] = row;
  }
  return rows;
}

const startTime = (bars: readonly TimeSpan[], index: number): number => bars[index]?.from ?? 0;

/** Group ascending `times` that are less than `gap` after the first of their group; return their indices. */
export function clusterTimes(times: readonly number[], gap: number): number[][] {
  const found: number[][] = [];
  let first = Number.NEGATIVE_INFINITY;
  times.forEach((time, index) => {
    if (time - first < gap) found.at(-1)?.push(index);
    else {
      found.push([index]);
      first = time;
    }
  });
  return found;
}

/** Merge overlapping spans into one from the first start to the last end. Parts stay in input order. */
export function mergeOverlapping<T extends TimeSpan>(
  bars: readonly T[],
): { from: number; to: number | null; parts: T[] }[] {
  const found: { from: number; to: number | null; parts: T[] }[] = [];
  for (const bar of [...bars].sort((a, b) => a.from - b.from)) {
    const last = found.at(-1);
    if (last && (last.to === null || bar.from <= last.to)) {
      last.parts.push(bar);
      last.to = last.to === null || bar.to === null ? null : Math.max(last.to, bar.to);
    } else found.push({ from: bar.from, to: bar.to, parts: [bar] });
  }
  return found;
}
