/** Several series as one: the sum, mean, highest or lowest of what is known at each instant. Pure. */

export type Rule = 'sum' | 'mean' | 'max' | 'min';

interface Folded {
  uids: readonly string[];
  metric: string;
  rule?: Rule;
  scale?: number;
}

type Each = (uid: string, metric: string, add: (index: number, value: number) => void) => void;

/** `each` tells the values of one uid; an instant nobody knows stays NaN. */
export function fold(
  { uids, metric, rule = 'sum', scale = 1 }: Folded,
  length: number,
  each: Each,
): Float64Array {
  const result = new Float64Array(length).fill(Number.NaN);
  const counts = rule === 'mean' ? new Uint16Array(length) : null;
  const add = (index: number, value: number) => {
    if (Number.isNaN(value) || index >= length) return;
    const now = result[index] ?? Number.NaN;
    if (Number.isNaN(now)) result[index] = value;
    else if (rule === 'max') result[index] = Math.max(value, now);
    else if (rule === 'min') result[index] = Math.min(value, now);
    else result[index] = now + value;
    if (counts) counts[index] = (counts[index] ?? 0) + 1;
  };
  for (const uid of uids) each(uid, metric, add);
  if (counts || scale !== 1) {
    for (let index = 0; index < length; index += 1) {
      result[index] = ((result[index] ?? Number.NaN) / (counts?.[index] || 1)) * scale;
    }
  }
  return result;
}

export const known = (value: number | undefined): number =>
  value === undefined || Number.isNaN(value) ? 0 : value;
