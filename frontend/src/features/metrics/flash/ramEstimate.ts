/** Expected RAM hit ratio by RAM limit. Pure. */
import type { RamCurve } from '@/api/types';

type Points = RamCurve['points'];

/** Alternative sizes, as factors of the current RAM limit. */
const FACTORS = [0.5, 1.5, 2, 3];

export interface RamAlternative {
  size: number;
  ratio: number;
  /** Difference to the expected ratio at the current size. */
  change: number;
  nodes: number | null;
  amount: number | null;
}

/** Return the point of the curve that stands for a size. */
export function nearestRamPoint(points: Points, size: number): Points[number] | undefined {
  let best: Points[number] | undefined;
  for (const point of points) {
    if (!best || Math.abs(point.ram_size - size) < Math.abs(best.ram_size - size)) best = point;
  }
  return best;
}

/** Return the position of a size on an axis from 0 to the largest size: 0 to 1. */
export function ramAxisPosition(points: Points, size: number): number {
  return size / (points.at(-1)?.ram_size || 1);
}

/**
 * Return the expected ratios at alternative sizes within the range of the curve, including the
 * largest size.
 */
export function ramAlternatives({ points, ram_size, expected }: RamCurve): RamAlternative[] {
  const [smallest = 0, largest = 0] = [points[0]?.ram_size, points.at(-1)?.ram_size];
  const sizes = FACTORS.map((factor) => factor * ram_size).filter(
    (size) => size >= smallest && size < largest,
  );
  return [...sizes, largest].flatMap((size) => {
    const point = nearestRamPoint(points, size);
    if (point === undefined || expected === null) return [];
    const { hit_ratio: ratio, nodes, amount } = point;
    return [{ size, ratio, change: ratio - expected, nodes, amount }];
  });
}

/** Positions of the axis labels. */
export const TICKS = [0, 0.25, 0.5, 0.75, 1];
