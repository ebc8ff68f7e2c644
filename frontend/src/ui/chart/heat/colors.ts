/** Colors of a heat map: a logarithmic scale, so that a single slow request is visible next to thousands of fast ones. Pure. */
import { isPowerOfTen, roundNumbers } from './grid';

/** Colors from few to many requests. CSS defines them for both themes. */
export const STOPS = [0, 1, 2, 3, 4].map((stop) => `var(--heat-map-${stop})`);

/** Maximum powers of ten of the scale. Lower rates have the same color. */
const DECADES = 6;

/** Share of the legend's width that a label needs. */
const LABEL_SHARE = 0.12;

export interface ColorScale {
  low: number;
  high: number;
}

/** Return a scale from a power of ten at or below the lowest rate to a round number at or above the highest. */
export function colorScale([lowest, highest]: readonly [number, number]): ColorScale {
  const power = Math.floor(Math.log10(lowest));
  const high = roundNumbers(Math.max(highest, 10 ** (power + 1)), highest * 100)[0] ?? highest;
  const bottom = Math.max(power, Math.ceil(Math.log10(high)) - DECADES);
  return { low: Number(`1e${bottom}`), high };
}

/** Return the position of a rate on the scale, 0 to 1. */
export function shareOf(rate: number, { low, high }: ColorScale): number {
  const position = Math.log10(rate / low) / Math.log10(high / low);
  return Math.min(1, Math.max(0, position));
}

/** Return the labels of a legend: powers of ten, and the end of the scale if there is space. */
export function scaleLabels(scale: ColorScale): { rate: number; position: number }[] {
  const tens = roundNumbers(scale.low, scale.high).filter(isPowerOfTen);
  const marks = tens.map((rate) => ({ rate, position: shareOf(rate, scale) }));
  const free = 1 - (marks.at(-1)?.position ?? 0);
  return free > LABEL_SHARE ? [...marks, { rate: scale.high, position: 1 }] : marks;
}

type Rgb = readonly [number, number, number];

const parsed = (hex: string): Rgb => {
  const value = Number.parseInt(hex.replace('#', ''), 16);
  return [(value >> 16) & 255, (value >> 8) & 255, value & 255];
};

/** Return `count` colors from the first to the last of `stops` (#rrggbb), interpolated like a CSS gradient. */
export function shades(stops: readonly string[], count: number): string[] {
  const colors = stops.map(parsed);
  return Array.from({ length: count }, (_, index) => {
    const position = (index / (count - 1)) * (colors.length - 1);
    const left = Math.min(Math.floor(position), colors.length - 2);
    const [a, b] = [colors[left] ?? [0, 0, 0], colors[left + 1] ?? [0, 0, 0]];
    const mixed = a.map((part, at) =>
      Math.round(part + ((b[at] ?? part) - part) * (position - left)),
    );
    return `rgb(${mixed.join(' ')})`;
  });
}
