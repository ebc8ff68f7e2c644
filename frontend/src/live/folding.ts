/** Several series as one: the sum, mean, highest or lowest of what is known at each instant. Pure. */

export type Rule = 'sum' | 'mean' | 'max' | 'min';

interface Folded {
  uids: readonly string[];
  metric: string;
  rule?: Rule;
  scale?: number;
}

/** Tells the values of one uid in one or more pieces, each beginning at an index of the result. */
export type Each = (
  uid: string,
  metric: string,
  add: (at: number, values: Float64Array) => void,
) => void;

const add = (a: number, b: number): number => a + b;
const MERGE: Record<Rule, (a: number, b: number) => number> = {
  sum: add,
  mean: add,
  max: Math.max,
  min: Math.min,
};

/** An instant nobody knows stays NaN. */
export function fold(
  { uids, metric, rule = 'sum', scale = 1 }: Folded,
  length: number,
  each: Each,
): Float64Array {
  const result = new Float64Array(length).fill(Number.NaN);
  const counts = rule === 'mean' ? new Uint16Array(length) : null;
  const merge = MERGE[rule];
  const take = (at: number, values: Float64Array) => {
    const end = Math.min(values.length, length - at);
    for (let index = 0; index < end; index += 1) {
      const value = values[index] ?? Number.NaN;
      if (Number.isNaN(value)) continue;
      const place = at + index;
      const now = result[place] ?? Number.NaN;
      result[place] = Number.isNaN(now) ? value : merge(now, value);
      if (counts) counts[place] = (counts[place] ?? 0) + 1;
    }
  };
  for (const uid of uids) each(uid, metric, take);
  if (counts || scale !== 1) {
    for (let index = 0; index < length; index += 1) {
      result[index] = ((result[index] ?? Number.NaN) / (counts?.[index] || 1)) * scale;
    }
  }
  return result;
}
