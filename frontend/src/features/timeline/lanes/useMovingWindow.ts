/**
 * Move elements on a time axis with the window, without rendering. Elements inside a strip are
 * positioned by their seconds after `base`, and the strip is moved as a whole. Only a zoom changes
 * the positions of the elements themselves.
 */
import { useCallback, useEffect, useLayoutEffect, useRef } from 'react';
import { useLive, useTick } from '@/live/LiveProvider';
import { useTimeAxis } from '@/ui/chart/TimeAxisContext';

export function useMovingWindow(base: number) {
  const axis = useTimeAxis();
  const live = useLive();
  const root = useRef<HTMLDivElement>(null);
  const move = useCallback(() => {
    const element = root.current;
    if (!element) return;
    const { from, to } = axis.window();
    const length = Math.max(1, to - from);
    setOnce(element, '--length', String(length));
    const left = `${(((base - from) / length) * 100).toFixed(4)}%`;
    for (const strip of element.querySelectorAll<HTMLElement>('[data-strip]')) {
      if (strip.style.left !== left) strip.style.left = left;
    }
    const now = (live.now() / 1000 - base).toFixed(2);
    for (const bar of element.querySelectorAll<HTMLElement>('[data-open]')) {
      bar.style.setProperty('--end', now);
    }
  }, [axis, live, base]);
  useTick(move);
  useEffect(() => axis.subscribe(move), [axis, move]);
  // Newly rendered elements do not have the position of the window yet.
  useLayoutEffect(move);
  return root;
}

function setOnce(element: HTMLElement, name: string, value: string): void {
  if (element.style.getPropertyValue(name) !== value) element.style.setProperty(name, value);
}
