/**
 * Zoom into the interval that the user selects by dragging across the lanes. A double click resets
 * the zoom.
 */
import { type MouseEvent, type PointerEvent, type RefObject, useRef } from 'react';
import { useTimeAxis } from '@/ui/chart/TimeAxisContext';

const CLICK_PX = 5;
const MIN_SECONDS = 2;

export function useDragZoom(root: RefObject<HTMLDivElement | null>) {
  const axis = useTimeAxis();
  const selection = useRef<HTMLDivElement>(null);
  const start = useRef<{ x: number; id: number } | null>(null);

  const track = () => root.current?.querySelector('[data-track]')?.getBoundingClientRect();

  const draw = (x: number) => {
    const box = selection.current;
    const area = track();
    const all = root.current?.getBoundingClientRect();
    if (!box || !area || !all || !start.current) return;
    const left = Math.max(area.left, Math.min(start.current.x, x));
    const right = Math.min(area.right, Math.max(start.current.x, x));
    box.hidden = right - left < CLICK_PX;
    box.style.left = `${left - all.left}px`;
    box.style.width = `${right - left}px`;
  };

  const end = (x: number) => {
    const area = track();
    const dragStart = start.current;
    start.current = null;
    if (selection.current) selection.current.hidden = true;
    if (!area || !dragStart || Math.abs(x - dragStart.x) < CLICK_PX) return;
    const { from, to } = axis.window();
    const second = (at: number) =>
      from + Math.min(1, Math.max(0, (at - area.left) / area.width)) * (to - from);
    const first = Math.floor(second(Math.min(dragStart.x, x)));
    const last = Math.ceil(second(Math.max(dragStart.x, x)));
    axis.zoom(first, Math.max(last, first + MIN_SECONDS));
  };

  return {
    selection,
    handlers: {
      onPointerDown: (event: PointerEvent) => {
        const target = event.target as Element;
        if (event.button !== 0 || target.closest('button') || !target.closest('[data-track]'))
          return;
        start.current = { x: event.clientX, id: event.pointerId };
        event.currentTarget.setPointerCapture(event.pointerId);
      },
      onPointerMove: (event: PointerEvent) => start.current && draw(event.clientX),
      onPointerUp: (event: PointerEvent) => end(event.clientX),
      onPointerCancel: () => end(start.current?.x ?? 0),
      onDoubleClick: (event: MouseEvent) => {
        if (!(event.target as Element).closest('button')) axis.reset();
      },
    },
  };
}
