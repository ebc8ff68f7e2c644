/** Logarithmic axis with complete powers of ten around the values. Pure. */

type Row = readonly (number | null)[];
/** Rows with null or NaN for unknown values. */
type Values = Row | Float64Array;

/** Replace zero with null, because zero has no position on a logarithmic axis. */
export const positive = (row: Row): (number | null)[] =>
  row.map((value) => (value !== null && value > 0 ? value : null));

/** Return the powers of ten below the lowest and above the highest value. */
export function decades(rows: readonly Values[]): [number, number] {
  let low = Number.POSITIVE_INFINITY;
  let high = 0;
  for (const row of rows) {
    for (const value of row) {
      if (value === null || !(value > 0)) continue;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
  }
  if (!high) return [1, 10];
  const from = 10 ** Math.floor(Math.log10(low));
  return [from, Math.max(from * 10, 10 ** Math.ceil(Math.log10(high)))];
}
