/** Of a table with hundreds of rows, those in sight: what is drawn anew each second must not grow with the table. */
import { defaultRangeExtractor, type Range, useVirtualizer } from '@tanstack/react-virtual';
import { type RefObject, useLayoutEffect, useState } from 'react';

/** Up to so many rows are drawn all, so that the browser's own search finds them. */
export const LONG = 150;
/** Pixels; the real ones are measured as rows come into sight. */
const ROW = 33;
/** Rows beyond each edge, for what scrolls faster than it is drawn. */
const BEYOND = 15;

export interface ShownRow {
  index: number;
  /** Pixels that the rows left out before it take. */
  before: number;
}

export interface LongRows {
  /** Undefined: all of them. */
  shown: readonly ShownRow[] | undefined;
  /** Pixels that the rows left out at the end take. */
  after: number;
  /** Tells how high a row is. */
  measure: (row: HTMLTableRowElement | null) => void;
  /** Of the columns by id, in pixels: they would jump with what is in sight. */
  widths: ReadonlyMap<string, number> | undefined;
}

const ALL: LongRows = {
  shown: undefined,
  after: 0,
  measure: () => undefined,
  widths: undefined,
};

interface Options {
  table: RefObject<HTMLTableElement | null>;
  count: number;
  keyOf: (index: number) => string | number;
  columns: readonly string[];
}

export function useLongRows({ table, count, keyOf, columns }: Options): LongRows {
  const isLong = count > LONG;
  const [margin, setMargin] = useState(0);
  const widths = useWidths(isLong, table, columns);
  const rows = useVirtualizer<HTMLElement, HTMLTableRowElement>({
    count: isLong ? count : 0,
    enabled: isLong,
    getScrollElement: () => scrollerOf(table.current),
    estimateSize: () => ROW,
    getItemKey: keyOf,
    overscan: BEYOND,
    scrollMargin: margin,
    // A row that goes would take the keyboard along.
    rangeExtractor: (range) => withFocused(range, table.current),
  });
  // What stands above the table may have become higher.
  useLayoutEffect(() => {
    const scroller = isLong && scrollerOf(table.current);
    const body = table.current?.tBodies[0];
    if (!scroller || !body) return;
    const top = body.getBoundingClientRect().top - scroller.getBoundingClientRect().top;
    const now = Math.round(top + scroller.scrollTop);
    if (now !== margin) setMargin(now);
  });
  if (!isLong) return ALL;
  const inSight = rows.getVirtualItems();
  return {
    shown: inSight.map(({ index, start }, at) => ({
      index,
      before: start - (inSight[at - 1]?.end ?? margin),
    })),
    after: rows.getTotalSize() - ((inSight.at(-1)?.end ?? margin) - margin),
    measure: rows.measureElement,
    widths,
  };
}

/** What the table scrolls in: its own wrapper scrolls sideways only. */
function scrollerOf(table: HTMLElement | null): HTMLElement | null {
  for (let box = table?.parentElement?.parentElement; box; box = box.parentElement) {
    if (/auto|scroll/.test(getComputedStyle(box).overflowY)) return box;
  }
  return document.documentElement;
}

function withFocused(range: Range, table: HTMLElement | null): number[] {
  const found = defaultRangeExtractor(range);
  const focused = document.activeElement?.closest('tr');
  const index = focused && table?.contains(focused) ? Number(focused.dataset.index) : Number.NaN;
  if (!(index >= 0 && index < range.count) || found.includes(index)) return found;
  return [...found, index].sort((a, b) => a - b);
}

/** As the browser made them for the first rows; made anew when the page becomes wider or narrower, and for other columns. */
function useWidths(
  isLong: boolean,
  table: RefObject<HTMLTableElement | null>,
  columns: readonly string[],
) {
  const names = columns.join();
  const [made, setMade] = useState<{ names: string; widths: ReadonlyMap<string, number> }>();
  useLayoutEffect(() => {
    const box = isLong && table.current?.parentElement;
    if (!box) {
      setMade(undefined);
      return;
    }
    let known = box.clientWidth;
    const observer = new ResizeObserver(() => {
      if (box.clientWidth === known) return;
      known = box.clientWidth;
      setMade(undefined);
    });
    observer.observe(box);
    return () => observer.disconnect();
  }, [isLong, table]);
  useLayoutEffect(() => {
    const heads = table.current?.tHead?.rows[0]?.cells;
    const rows = table.current?.querySelectorAll('tbody tr[data-index]').length ?? 0;
    if (!isLong || made?.names === names || !heads || !rows) return;
    const ids = names.split(',');
    const found = Array.from(heads, (head, at): [string, number] => [
      ids[at] ?? '',
      head.getBoundingClientRect().width,
    ]);
    setMade({ names, widths: new Map(found) });
  });
  return made?.names === names ? made.widths : undefined;
}
