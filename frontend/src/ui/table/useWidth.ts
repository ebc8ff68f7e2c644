/** Width of an element, such as the space for a table. */
import { useLayoutEffect, useState } from 'react';

/** Below this width in pixels, tables become lists of cards. */
export const CARD_WIDTH = 560;

/** Return the `ref` of the element, and its width in pixels; undefined before it was measured. */
export function useWidth(): [(element: HTMLElement | null) => void, number | undefined] {
  const [element, setElement] = useState<HTMLElement | null>(null);
  const [width, setWidth] = useState<number>();
  useLayoutEffect(() => {
    if (!element) return;
    const observer = new ResizeObserver(([entry]) => {
      if (entry) setWidth(Math.round(entry.contentRect.width));
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, [element]);
  return [setElement, width];
}
