/** The colours of a heat map: a logarithmic scale, so that a single slow request is seen beside thousands of fast ones. Pure. */
import { isPowerOfTen, roundNumbers } from './grid';

/** From few to many; defined for both themes in CSS. */
export const STOPS = [0, 1, 2, 3, 4].map((stop) => `var(--heat-map-${stop})`);

/** More than this many powers of ten below the most are one colour. */
const DECADES = 6;

/** Part of a legend that a label needs. */
const ROOM = 0.12;

export interface ColourScale {
  low: number;
  high: number;
}

/** From a power of ten at or below the lowest rate to a round number at or above the highest. */
export function colourScale([lowest, highest]: readonly [number, number]): ColourScale {
  const power = Math.floor(Math.log10(lowest));
  const high = roundNumbers(Math.max(highest, 10 ** (power + 1)), highest * 100)[0] ?? highest;
  const bottom = Math.max(power, Math.ceil(Math.log10(high)) - DECADES);
  return { low: Number(`1e${bottom}`), high };
}

/** Place of a rate on the scale, 0 to 1. */
export function shareOf(rate: number, { low, high }: ColourScale): number {
  const place = Math.log10(rate / low) / Math.log10(high / low);
  return Math.min(1, Math.max(0, place));
}

/** Powers of ten and the end with their places, as far as there is room for them in a legend. */
export function marksOf(scale: ColourScale): { rate: number; place: number }[] {
  const tens = roundNumbers(scale.low, scale.high).filter(isPowerOfTen);
  const marks = tens.map((rate) => ({ rate, place: shareOf(rate, scale) }));
  const free = 1 - (marks.at(-1)?.place ?? 0);
  return free > ROOM ? [...marks, { rate: scale.high, place: 1 }] : marks;
}

type Rgb = readonly [number, number, number];

const parsed = (hex: string): Rgb => {
  const value = Number.parseInt(hex.replace('#', ''), 16);
  return [(value >> 16) & 255, (value >> 8) & 255, value & 255];
};

/** `count` colours from the first to the last of `stops` (#rrggbb), mixed as a CSS gradient does. */
export function shades(stops: readonly string[], count: number): string[] {
  const colours = stops.map(parsed);
  return Array.from({ length: count }, (_, index) => {
    const place = (index / (count - 1)) * (colours.length - 1);
    const left = Math.min(Math.floor(place), colours.length - 2);
    const [a, b] = [colours[left] ?? [0, 0, 0], colours[left + 1] ?? [0, 0, 0]];
    const mixed = a.map((part, at) => Math.round(part + ((b[at] ?? part) - part) * (place - left)));
    return `rgb(${mixed.join(' ')})`;
  });
}
