/**
 * Incremental combination of the series of a ring buffer. The result of the previous second is kept,
 * and only the newest seconds are read again. Otherwise, the band of 500 shards would be too
 * expensive.
 */
import { type CombineRule, combineSeries } from './combineSeries';
import { MAX_LATE_SECONDS, type TopicRing } from './ring';

interface CombineSpec {
  uids: readonly string[];
  metric: string;
  rule?: CombineRule;
  scale?: number;
}

export type RingCombiner = (ring: TopicRing, from: number, to: number) => Float64Array;

export function ringCombiner(spec: CombineSpec): RingCombiner {
  let previous: {
    ring: TopicRing;
    revision: number;
    from: number;
    to: number;
    row: Float64Array;
  } | null = null;
  const read = (ring: TopicRing, from: number, to: number) =>
    combineSeries(spec, to - from + 1, (uid, metric, add) =>
      ring.forEachPiece(uid, metric, from, to, add),
    );

  return (ring, from, to) => {
    const last = previous;
    let row: Float64Array;
    const isReusable = last && last.ring === ring && last.revision === ring.revision;
    if (isReusable && from >= last.from && to >= last.to && from < last.to - MAX_LATE_SECONDS) {
      row = new Float64Array(to - from + 1);
      row.set(last.row.subarray(from - last.from));
      const rereadFrom = Math.max(from, last.to - MAX_LATE_SECONDS);
      row.set(read(ring, rereadFrom, to), rereadFrom - from);
    } else row = read(ring, from, to);
    previous = { ring, revision: ring.revision, from, to, row };
    return row;
  };
}
