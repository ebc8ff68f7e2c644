/** Seconds without samples, as a lane. Pure. */
import { interval } from '@/lib/dates';
import { duration, type Zone } from '@/lib/time';
import { maxLateIntervals } from '@/ui/chart/data/prepare';
import type { Columns } from '@/ui/chart/types';
import type { Lane } from './lanes';

/** Interval without samples in epoch seconds; `to` is null if it lasts. */
export interface Gap {
  from: number;
  to: number | null;
}

/** Return the intervals before the second `edge` in which no row has a value. Samples that are only late are not missing. */
export function gapsOf({ from, step, rows }: Columns, edge: number): Gap[] {
  const length = Math.min(rows[0]?.length ?? 0, Math.max(0, Math.ceil((edge - from) / step)));
  const isMissing = (index: number) => rows.every((row) => Number.isNaN(row[index] ?? Number.NaN));
  const gaps: Gap[] = [];
  let start: number | null = null;
  for (let index = 0; index < length; index += 1) {
    if (isMissing(index)) start ??= index;
    else if (start !== null) {
      gaps.push({ from: from + start * step, to: from + index * step });
      start = null;
    }
  }
  const isAtEdge = from + length * step >= edge;
  if (start === null) return gaps;
  const since = from + start * step;
  if (!isAtEdge) gaps.push({ from: since, to: from + length * step });
  else if (length - start > maxLateIntervals(step)) gaps.push({ from: since, to: null });
  return gaps;
}

export const GAP = 'gap';

export function gapLane(gaps: readonly Gap[], zone: Zone): Lane {
  const text = ({ from, to }: Gap) =>
    to === null
      ? 'No samples since then'
      : `No samples for ${duration(to - from)}: ${interval(from, to - from, zone)}`;
  return {
    id: GAP,
    title: 'No data',
    detail: '',
    depth: 0,
    node: null,
    isExpanded: null,
    rows: 1,
    items: gaps.map((gap) => ({
      id: `${GAP}:${gap.from}`,
      shape: 'bar',
      type: GAP,
      tone: 'neutral',
      label: text(gap),
      text: '',
      from: gap.from * 1000,
      to: gap.to === null ? null : gap.to * 1000,
      row: 0,
      count: 1,
      percent: null,
      phases: [],
    })),
  };
}
