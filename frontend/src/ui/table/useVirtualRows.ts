/** Virtualization of tables with hundreds of rows: only visible rows are rendered, so that the cost per second does not depend on the table size. */
import {
  defaultRangeExtractor,
  elementScroll,
  observeElementOffset,
  observeElementRect,
  observeWindowOffset,
  observeWindowRect,
  type Range,
  useVirtualizer,
  type VirtualizerOptions,
  windowScroll,
} from '@tanstack/react-virtual';
import { type RefObject, useLayoutEffect, useState } from 'react';
import { usePrinting } from '../usePrinting';

/** Maximum number of rows that are all rendered, so that the search of the browser finds them. */
export const MAX_RENDERED_ROWS = 150;
/** Estimated row height in pixels. Rendered rows are measured. */
const ROW = 33;
/** Rows that are rendered beyond each edge, for fast scrolling. */
const OVERSCAN_ROWS = 15;

export interface VirtualRow {
  index: number;
  /** Height in pixels of the omitted rows before it. */
  before: number;
}

export interface VirtualRows {
  /** Undefined if all rows are rendered. */
  rows: readonly VirtualRow[] | undefined;
  /** Height in pixels of the omitted rows at the end. */
  after: number;
  /** Measures the height of a row. */
  measure: (row: HTMLTableRowElement | null) => void;
  /** Column widths in pixels by id. They are fixed, because they would otherwise change with the visible rows. */
  widths: ReadonlyMap<string, number> | undefined;
}

const ALL: VirtualRows = {
  rows: undefined,
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

export function useVirtualRows({ table, count, keyOf, columns }: Options): VirtualRows {
  const printing = usePrinting();
  const isLong = count > MAX_RENDERED_ROWS && !printing;
  const [margin, setMargin] = useState(0);
  const widths = useWidths(isLong, table, columns);
  const rows = useVirtualizer<HTMLElement, HTMLTableRowElement>({
    count: isLong ? count : 0,
    enabled: isLong,
    getScrollElement: () => scrollerOf(table.current),
    ...ofAnyScroller,
    estimateSize: () => ROW,
    getItemKey: keyOf,
    overscan: OVERSCAN_ROWS,
    scrollMargin: margin,
    // Keep the focused row, because the focus would be lost with it.
    rangeExtractor: (range) => withFocused(range, table.current),
  });
  // The height of the content above the table can change.
  useLayoutEffect(() => {
    const scroller = isLong && scrollerOf(table.current);
    const body = table.current?.tBodies[0];
    if (!scroller || !body) return;
    const now = Math.round(body.getBoundingClientRect().top + startOf(scroller));
    if (now !== margin) setMargin(now);
  });
  if (!isLong) return ALL;
  const virtualItems = rows.getVirtualItems();
  return {
    rows: virtualItems.map(({ index, start }, at) => ({
      index,
      before: start - (virtualItems[at - 1]?.end ?? margin),
    })),
    after: rows.getTotalSize() - ((virtualItems.at(-1)?.end ?? margin) - margin),
    measure: rows.measureElement,
    widths,
  };
}

/** Return the element that scrolls the table vertically, or the window. The wrapper of the table scrolls only horizontally. */
function scrollerOf(table: HTMLElement | null): HTMLElement {
  for (let box = table?.parentElement?.parentElement; box; box = box.parentElement) {
    if (/auto|scroll/.test(getComputedStyle(box).overflowY)) return box;
  }
  // The types of the library know only one kind of scroller.
  return window as unknown as HTMLElement;
}

const isWindow = (scroller: unknown): boolean => scroller === window;

/** Functions of the library for tables that an element scrolls, or the window. */
const ofAnyScroller: Pick<
  VirtualizerOptions<HTMLElement, HTMLTableRowElement>,
  'observeElementRect' | 'observeElementOffset' | 'scrollToFn'
> = {
  observeElementRect: (rows, report) =>
    isWindow(rows.scrollElement)
      ? observeWindowRect(rows as never, report)
      : observeElementRect(rows, report),
  observeElementOffset: (rows, report) =>
    isWindow(rows.scrollElement)
      ? observeWindowOffset(rows as never, report)
      : observeElementOffset(rows, report),
  scrollToFn: (offset, options, rows) =>
    isWindow(rows.scrollElement)
      ? windowScroll(offset, options, rows as never)
      : elementScroll(offset, options, rows),
};

/** Return the distance from the top of the viewport to the start of the scrolled content, upwards. */
const startOf = (scroller: HTMLElement): number =>
  isWindow(scroller) ? window.scrollY : scroller.scrollTop - scroller.getBoundingClientRect().top;

function withFocused(range: Range, table: HTMLElement | null): number[] {
  const found = defaultRangeExtractor(range);
  const focused = document.activeElement?.closest('tr');
  const index = focused && table?.contains(focused) ? Number(focused.dataset.index) : Number.NaN;
  if (!(index >= 0 && index < range.count) || found.includes(index)) return found;
  return [...found, index].sort((a, b) => a - b);
}

/** Return the column widths that the browser chose for the first rows. They are measured again when the page width or the columns change. */
function useWidths(
  isLong: boolean,
  table: RefObject<HTMLTableElement | null>,
  columns: readonly string[],
) {
  const names = columns.join();
  const [measured, setMeasured] = useState<{
    names: string;
    widths: ReadonlyMap<string, number>;
  }>();
  useLayoutEffect(() => {
    const box = isLong && table.current?.parentElement;
    if (!box) {
      setMeasured(undefined);
      return;
    }
    let known = box.clientWidth;
    const observer = new ResizeObserver(() => {
      if (box.clientWidth === known) return;
      known = box.clientWidth;
      setMeasured(undefined);
    });
    observer.observe(box);
    return () => observer.disconnect();
  }, [isLong, table]);
  useLayoutEffect(() => {
    const headerCells = table.current?.tHead?.rows[0]?.cells;
    const rows = table.current?.querySelectorAll('tbody tr[data-index]').length ?? 0;
    if (!isLong || measured?.names === names || !headerCells || !rows) return;
    const ids = names.split(',');
    const found = Array.from(headerCells, (cell, at): [string, number] => [
      ids[at] ?? '',
      cell.getBoundingClientRect().width,
    ]);
    setMeasured({ names, widths: new Map(found) });
  });
  return measured?.names === names ? measured.widths : undefined;
}
