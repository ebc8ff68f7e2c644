/**
 * Incremental combination of the series of a ring buffer. The result of the previous second is kept,
 * and only the newest seconds are read again. Otherwise, the band of 500 shards would be too
 * expensive.
 */
import { fold, type Rule } from './folding';
import { LATE, type TopicRing } from './ring';

interface Folded {
  uids: readonly string[];
  metric: string;
  rule?: Rule;
  scale?: number;
}

export type RingFolder = (ring: TopicRing, from: number, to: number) => Float64Array;

export function ringFolder(spec: Folded): RingFolder {
  let previous: {
    ring: TopicRing;
    revision: number;
    from: number;
    to: number;
    row: Float64Array;
  } | null = null;
  const read = (ring: TopicRing, from: number, to: number) =>
    fold(spec, to - from + 1, (uid, metric, add) => ring.each(uid, metric, from, to, add));

  return (ring, from, to) => {
    const last = previous;
    let row: Float64Array;
    const isReusable = last && last.ring === ring && last.revision === ring.revision;
    if (isReusable && from >= last.from && to >= last.to && from < last.to - LATE) {
      row = new Float64Array(to - from + 1);
      row.set(last.row.subarray(from - last.from));
      const rereadFrom = Math.max(from, last.to - LATE);
      row.set(read(ring, rereadFrom, to), rereadFrom - from);
    } else row = read(ring, from, to);
    previous = { ring, revision: ring.revision, from, to, row };
    return row;
  };
}
