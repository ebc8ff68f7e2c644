/**
 * Folds series of a ring, second by second: what was folded a second ago is kept, and only the
 * newest seconds are read again. The band of five hundred shards would cost too much otherwise.
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

export function ringFolder(one: Folded): RingFolder {
  let kept: {
    ring: TopicRing;
    revision: number;
    from: number;
    to: number;
    row: Float64Array;
  } | null = null;
  const read = (ring: TopicRing, from: number, to: number) =>
    fold(one, to - from + 1, (uid, metric, add) => ring.each(uid, metric, from, to, add));

  return (ring, from, to) => {
    const old = kept;
    let row: Float64Array;
    const fresh = old && old.ring === ring && old.revision === ring.revision;
    if (fresh && from >= old.from && to >= old.to && from < old.to - LATE) {
      row = new Float64Array(to - from + 1);
      row.set(old.row.subarray(from - old.from));
      const again = Math.max(from, old.to - LATE);
      row.set(read(ring, again, to), again - from);
    } else row = read(ring, from, to);
    kept = { ring, revision: ring.revision, from, to, row };
    return row;
  };
}
