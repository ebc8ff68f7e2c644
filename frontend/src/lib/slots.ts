/** Hash slots: parse, count and format ranges, and find slots that are not served. */

export const SLOT_COUNT = 16_384;

export interface SlotRange {
  from: number;
  to: number;
}

/** Parse "0-2730,8000" into sorted ranges; invalid parts are ignored. */
export function parseSlots(text: string | undefined): SlotRange[] {
  if (!text) return [];
  const ranges: SlotRange[] = [];
  for (const part of text.split(',')) {
    const match = /^\s*(\d+)(?:-(\d+))?\s*$/.exec(part);
    if (!match) continue;
    const from = Number(match[1]);
    const to = Number(match[2] ?? match[1]);
    if (from <= to && to < SLOT_COUNT) ranges.push({ from, to });
  }
  return ranges.sort((a, b) => a.from - b.from);
}

export function countSlots(ranges: readonly SlotRange[]): number {
  return ranges.reduce((sum, range) => sum + range.to - range.from + 1, 0);
}

/** Return the number of slots in both lists. A list must not contain a slot twice. */
export function commonSlots(a: readonly SlotRange[], b: readonly SlotRange[]): number {
  const both = (x: SlotRange, y: SlotRange) => Math.min(x.to, y.to) - Math.max(x.from, y.from) + 1;
  return a.reduce((sum, x) => b.reduce((part, y) => part + Math.max(0, both(x, y)), sum), 0);
}

export function formatSlots(ranges: readonly SlotRange[]): string {
  if (!ranges.length) return 'no slots';
  return ranges.map(({ from, to }) => (from === to ? `${from}` : `${from}–${to}`)).join(', ');
}

export interface Segment<T> extends SlotRange {
  owner: T | null;
}

/** Return all slots in order, as owned segments and the gaps between them. */
export function segments<T>(owners: readonly { owner: T; ranges: SlotRange[] }[]): Segment<T>[] {
  const owned = owners
    .flatMap(({ owner, ranges }) => ranges.map((range) => ({ ...range, owner })))
    .sort((a, b) => a.from - b.from);
  const result: Segment<T>[] = [];
  let next = 0;
  for (const segment of owned) {
    if (segment.from > next) result.push({ from: next, to: segment.from - 1, owner: null });
    result.push(segment);
    next = Math.max(next, segment.to + 1);
  }
  if (next < SLOT_COUNT) result.push({ from: next, to: SLOT_COUNT - 1, owner: null });
  return result;
}
