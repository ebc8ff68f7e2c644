/** Combination of several series into one: sum, mean, maximum or minimum of the available values. Pure. */

export type CombineRule = 'sum' | 'mean' | 'max' | 'min';

interface CombineSpec {
  uids: readonly string[];
  metric: string;
  rule?: CombineRule;
  scale?: number;
}

/** Pass the values of one uid to `add` in one or more pieces. `at` is the index of a piece in the result. */
export type SeriesReader = (
  uid: string,
  metric: string,
  add: (at: number, values: Float64Array) => void,
) => void;

const add = (a: number, b: number): number => a + b;
const MERGE: Record<CombineRule, (a: number, b: number) => number> = {
  sum: add,
  mean: add,
  max: Math.max,
  min: Math.min,
};

/** Combine the series of `uids`. Positions without any value are NaN. */
export function combineSeries(
  { uids, metric, rule = 'sum', scale = 1 }: CombineSpec,
  length: number,
  each: SeriesReader,
): Float64Array {
  const result = new Float64Array(length).fill(Number.NaN);
  const counts = rule === 'mean' ? new Uint16Array(length) : null;
  const merge = MERGE[rule];
  const mergePiece = (at: number, values: Float64Array) => {
    const end = Math.min(values.length, length - at);
    for (let index = 0; index < end; index += 1) {
      const value = values[index] ?? Number.NaN;
      if (Number.isNaN(value)) continue;
      const position = at + index;
      const now = result[position] ?? Number.NaN;
      result[position] = Number.isNaN(now) ? value : merge(now, value);
      if (counts) counts[position] = (counts[position] ?? 0) + 1;
    }
  };
  for (const uid of uids) each(uid, metric, mergePiece);
  if (counts || scale !== 1) {
    for (let index = 0; index < length; index += 1) {
      result[index] = ((result[index] ?? Number.NaN) / (counts?.[index] || 1)) * scale;
    }
  }
  return result;
}
