/** What floats over a plot: the box beside the crosshair, and the words of the mark under the pointer. */
import { clock, type Zone } from '@/lib/time';
import type { ChartMark } from './types';

/** Pixels between the crosshair and its box. */
const OFFSET = 12;
/** Half of what the words of a mark may need: kept free on both sides. */
const HALF = 130;

/** Shows the box to the right of the crosshair, or to its left where `room` pixels are not there. */
export function besideCrosshair(
  box: HTMLElement,
  { left, width }: { left: number; width: number },
  room: number,
): void {
  const flip = left + OFFSET + room > width;
  box.style.left = flip ? '' : `${left + OFFSET}px`;
  box.style.right = flip ? `${width - left + OFFSET}px` : '';
  box.hidden = false;
}

/** Says which mark is under the pointer, within a plot that is `width` pixels wide; nothing when there is none. */
export function sayMark(
  label: HTMLElement | null,
  mark: ChartMark | null,
  { left, width }: { left: number; width: number },
  zone: Zone,
): void {
  if (!label) return;
  label.hidden = mark === null;
  if (!mark) return;
  label.textContent = `${clock(mark.at, zone)} ${mark.label}`;
  label.style.left = `${Math.min(Math.max(left, HALF), Math.max(HALF, width - HALF))}px`;
}
