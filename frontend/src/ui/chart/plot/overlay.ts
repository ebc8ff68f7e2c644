/** Overlays of a plot: the box next to the crosshair, and the label of the mark under the pointer. */
import { clock, type Zone } from '@/lib/time';
import type { ChartMark } from '../types';

/** Distance between the crosshair and its box in pixels. */
const OFFSET = 12;
/** Half of the maximum width of a mark's label, which is kept free on both sides. */
const HALF = 130;

/** Show the box to the right of the crosshair, or to its left if `tooltipWidth` pixels are not available. */
export function positionTooltip(
  box: HTMLElement,
  { left, width }: { left: number; width: number },
  tooltipWidth: number,
): void {
  const flip = left + OFFSET + tooltipWidth > width;
  box.style.left = flip ? '' : `${left + OFFSET}px`;
  box.style.right = flip ? `${width - left + OFFSET}px` : '';
  box.hidden = false;
}

/** Show the label of the mark under the pointer in a plot of `width` pixels; hide it if there is none. */
export function showMark(
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
