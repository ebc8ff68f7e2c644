/** Puts what shares a lane into rows: spans that overlap go below each other, close instants become one mark. Pure. */

export interface Bar {
  from: number;
  /** Null: it goes on. */
  to: number | null;
}

/** The row of each span, first fit in order of begin. */
export function rowsOf(bars: readonly Bar[], gap: number): number[] {
  const order = bars.map((_, index) => index).sort((a, b) => begin(bars, a) - begin(bars, b));
  const ends: number[] = [];
  const rows: number[] = new Array(bars.length).fill(0);
  for (const index of order) {
    const bar = bars[index];
    if (!bar) continue;
    const free = ends.findIndex((end) => end <= bar.from);
    const row = free === -1 ? ends.length : free;
    // A short span still needs room to be seen and hit.
    ends[row] = bar.to === null ? Number.POSITIVE_INFINITY : Math.max(bar.to, bar.from + gap);
    rows[index] = row;
  }
  return rows;
}

const begin = (bars: readonly Bar[], index: number): number => bars[index]?.from ?? 0;

/** Groups of neighbours less than `gap` from the first of their group; `times` ascending. */
export function clusters(times: readonly number[], gap: number): number[][] {
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

/** Spans that overlap as one: from the first begin to the last end. Order of input is kept inside. */
export function union<T extends Bar>(
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
