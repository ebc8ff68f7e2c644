/** Ranking of series by outlier score: distance from the median divided by the median distance. Pure. */

export interface OutlierScore {
  uid: string;
  mean: number;
  score: number;
}

function median(sorted: readonly number[]): number {
  const middle = Math.floor(sorted.length / 2);
  if (!sorted.length) return Number.NaN;
  if (sorted.length % 2) return sorted[middle] ?? Number.NaN;
  return ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
}

function mean(values: Float64Array): number {
  let sum = 0;
  let count = 0;
  for (const value of values) {
    if (Number.isNaN(value)) continue;
    sum += value;
    count += 1;
  }
  return count ? sum / count : Number.NaN;
}

/**
 * Shards with a lower score count as normal and keep their order. Otherwise, tiles would constantly
 * swap places.
 */
const MIN_OUTLIER_SCORE = 4;

/** Return the series by outlier score, largest first. Series without samples precede all others. */
export function rankByOutlier(
  series: readonly { uid: string; values: Float64Array }[],
): OutlierScore[] {
  const inputIndex = new Map(series.map(({ uid }, index) => [uid, index]));
  const indexOf = ({ uid }: OutlierScore) => inputIndex.get(uid) ?? 0;
  const means = series.map(({ uid, values }) => ({ uid, mean: mean(values) }));
  const known = means.flatMap((entry) => (Number.isNaN(entry.mean) ? [] : [entry.mean]));
  const center = median(known.sort((a, b) => a - b));
  const spread = median(known.map((value) => Math.abs(value - center)).sort((a, b) => a - b)) || 1;
  return means
    .map((entry) => ({
      ...entry,
      score: Number.isNaN(entry.mean)
        ? Number.POSITIVE_INFINITY
        : Math.abs(entry.mean - center) / spread,
    }))
    .sort((a, b) => rankScore(b) - rankScore(a) || indexOf(a) - indexOf(b));
}

const rankScore = ({ score }: OutlierScore): number => (score < MIN_OUTLIER_SCORE ? 0 : score);

/** Return the uids by mean, highest first. Series without samples are last. */
export function rankByMean(series: readonly { uid: string; values: Float64Array }[]): string[] {
  const means = series.map(({ uid, values }) => ({ uid, mean: mean(values) }));
  const rank = (value: number) => (Number.isNaN(value) ? Number.NEGATIVE_INFINITY : value);
  return means.sort((a, b) => rank(b.mean) - rank(a.mean)).map(({ uid }) => uid);
}
