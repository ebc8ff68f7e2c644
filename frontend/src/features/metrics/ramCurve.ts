/** The curve of expected RAM-hit ratio by the size of RAM. Pure. */
import type { RamCurve } from '@/api/types';

type Points = RamCurve['points'];

/** Sizes that are offered beside the present one, as factors of it. */
const FACTORS = [0.5, 1.5, 2, 3];

export interface Choice {
  size: number;
  ratio: number;
  /** Against what is expected at the present size. */
  change: number;
}

/** The expected ratio at a size: that of the nearest point. */
export function ratioAt(points: Points, size: number): number | undefined {
  return nearestTo(points, size)?.hit_ratio;
}

export function nearestTo(points: Points, size: number): Points[number] | undefined {
  let best: Points[number] | undefined;
  for (const point of points) {
    if (!best || Math.abs(point.ram_size - size) < Math.abs(best.ram_size - size)) best = point;
  }
  return best;
}

/** The place of a size on an axis from 0 to the largest one. */
export function placeOf(points: Points, size: number): number {
  return size / (points.at(-1)?.ram_size || 1);
}

/** What other sizes would give, as far as the database could have them. */
export function choicesOf({ points, ram_size, expected }: RamCurve): Choice[] {
  const [least = 0, most = 0] = [points[0]?.ram_size, points.at(-1)?.ram_size];
  const sizes = FACTORS.map((factor) => factor * ram_size).filter(
    (size) => size >= least && size < most,
  );
  return [...sizes, most].flatMap((size) => {
    const ratio = ratioAt(points, size);
    return ratio === undefined || expected === null
      ? []
      : [{ size, ratio, change: ratio - expected }];
  });
}

/** Four round shares of the axis. */
export const TICKS = [0, 0.25, 0.5, 0.75, 1];
