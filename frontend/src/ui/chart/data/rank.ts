/** Selection of the series that a tooltip shows: the highest ones at one instant. Pure. */

export interface Ranked {
  /** Indices, highest value first. */
  top: number[];
  more: number;
  /** Series without a value at that instant. */
  withoutValue: number;
}

export function rankAt(values: readonly number[], limit: number): Ranked {
  const known = values.flatMap((value, index) => (Number.isNaN(value) ? [] : [index]));
  known.sort((a, b) => (values[b] ?? 0) - (values[a] ?? 0));
  // One more series needs as much space as "and 1 more".
  const count = known.length === limit + 1 ? limit + 1 : limit;
  return {
    top: known.slice(0, count),
    more: Math.max(0, known.length - count),
    withoutValue: values.length - known.length,
  };
}
