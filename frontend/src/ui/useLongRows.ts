/** Of a table with hundreds of rows, those in sight: what is drawn anew each second must not grow with the table. */
import { useVirtualizer } from '@tanstack/react-virtual';
import { type RefObject, useLayoutEffect, useState } from 'react';

/** Up to so many rows are drawn all, so that the browser's own search finds them. */
export const LONG = 150;
/** Pixels; the real ones are measured as rows come into sight. */
const ROW = 33;
/** Rows beyond each edge, for what scrolls faster than it is drawn. */
const BEYOND = 15;

export interface LongRows {
  /** Indexes of the rows to draw; undefined: all of them. */
  shown: readonly number[] | undefined;
  /** Pixels that the others take. */
  above: number;
  below: number;
  /** Tells how high a row is. */
  measure: (row: HTMLTableRowElement | null) => void;
  /** Of the columns, in pixels: they would jump with what is in sight. */
  widths: readonly number[] | undefined;
}

const ALL: LongRows = {
  shown: undefined,
  above: 0,
  below: 0,
  measure: () => undefined,
  widths: undefined,
};

export function useLongRows(count: number, table: RefObject<HTMLTableElement | null>): LongRows {
  const isLong = count > LONG;
  const [margin, setMargin] = useState(0);
  const widths = useWidths(isLong, table);
  const rows = useVirtualizer<HTMLElement, HTMLTableRowElement>({
    count: isLong ? count : 0,
    enabled: isLong,
    getScrollElement: () => table.current?.closest('main') ?? null,
    estimateSize: () => ROW,
    overscan: BEYOND,
    scrollMargin: margin,
  });
  // What stands above the table may have become higher.
  useLayoutEffect(() => {
    const scroller = isLong && table.current?.closest('main');
    const body = table.current?.tBodies[0];
    if (!scroller || !body) return;
    const top = body.getBoundingClientRect().top - scroller.getBoundingClientRect().top;
    const now = Math.round(top + scroller.scrollTop);
    if (now !== margin) setMargin(now);
  });
  if (!isLong) return ALL;
  const inSight = rows.getVirtualItems();
  return {
    shown: inSight.map(({ index }) => index),
    above: (inSight[0]?.start ?? margin) - margin,
    below: rows.getTotalSize() - ((inSight.at(-1)?.end ?? margin) - margin),
    measure: rows.measureElement,
    widths,
  };
}

/** As the browser made them for the first rows; made anew when the page becomes wider or narrower. */
function useWidths(isLong: boolean, table: RefObject<HTMLTableElement | null>) {
  const [widths, setWidths] = useState<readonly number[]>();
  useLayoutEffect(() => {
    const box = isLong && table.current?.parentElement;
    if (!box) {
      setWidths(undefined);
      return;
    }
    let known = 0;
    const observer = new ResizeObserver(() => {
      if (box.clientWidth === known) return;
      known = box.clientWidth;
      setWidths(undefined);
    });
    observer.observe(box);
    return () => observer.disconnect();
  }, [isLong, table]);
  useLayoutEffect(() => {
    const heads = table.current?.tHead?.rows[0]?.cells;
    const rows = table.current?.tBodies[0]?.rows.length ?? 0;
    // Two rows only keep the room of those out of sight.
    if (isLong && !widths && heads && rows > 2)
      setWidths(Array.from(heads, (head) => head.getBoundingClientRect().width));
  });
  return widths;
}
