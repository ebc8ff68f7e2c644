/** Turns ring values into what uPlot draws, and into legend figures. Pure. */

export interface Prepared {
  x: number[];
  /** As drawn: running sums for a stacked chart, null for a gap. */
  drawn: (number | null)[][];
  /** As measured. */
  raw: Float64Array[];
}

export function prepare(from: number, raw: Float64Array[], kind: 'lines' | 'stacked'): Prepared {
  const length = raw[0]?.length ?? 0;
  const x = Array.from({ length }, (_, index) => from + index);
  if (kind === 'lines') return { x, raw, drawn: raw.map(withGaps) };
  // The first series is the bottom layer, the last line is the whole sum.
  const drawn: (number | null)[][] = raw.map(() => new Array(length).fill(null));
  for (let t = 0; t < length; t += 1) {
    let sum = 0;
    let known = false;
    for (let s = 0; s < raw.length; s += 1) {
      const value = raw[s]?.[t] ?? Number.NaN;
      if (!Number.isNaN(value)) {
        sum += value;
        known = true;
      }
      const row = drawn[s];
      if (row) row[t] = known ? sum : null;
    }
  }
  return { x, raw, drawn };
}

function withGaps(values: Float64Array): (number | null)[] {
  return Array.from(values, (value) => (Number.isNaN(value) ? null : value));
}

export interface Figures {
  min: number;
  avg: number;
  max: number;
  last: number;
}

/** NaN everywhere when there is no sample at all. `last` looks back a few seconds only. */
export function figures(values: Float64Array): Figures {
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  let sum = 0;
  let count = 0;
  let last = Number.NaN;
  for (let index = 0; index < values.length; index += 1) {
    const value = values[index] ?? Number.NaN;
    if (Number.isNaN(value)) continue;
    min = Math.min(min, value);
    max = Math.max(max, value);
    sum += value;
    count += 1;
    if (index >= values.length - 4) last = value;
  }
  if (!count) return { min: Number.NaN, avg: Number.NaN, max: Number.NaN, last };
  return { min, avg: sum / count, max, last };
}

export function toCsv(
  x: readonly number[],
  labels: readonly string[],
  raw: Float64Array[],
): string {
  const quote = (text: string) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const head = ['time', ...labels].map(quote).join(',');
  const rows = x.map((second, index) => {
    const values = raw.map((series) => {
      const value = series[index] ?? Number.NaN;
      return Number.isNaN(value) ? '' : String(value);
    });
    return [new Date(second * 1000).toISOString(), ...values].join(',');
  });
  return [head, ...rows].join('\n');
}

/** A round number of at least `value`, so the axis does not tremble with every sample. */
export function niceCeiling(value: number, binary: boolean): number {
  if (!(value > 0)) return 1;
  const base = binary ? 1024 ** Math.floor(Math.log(value) / Math.log(1024)) : 1;
  const scaled = value / base;
  const power = 10 ** Math.floor(Math.log10(scaled));
  const step = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].find((s) => s * power >= scaled) ?? 10;
  return step * power * base;
}
