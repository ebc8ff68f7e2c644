/**
 * Writes the exact window into custom properties of an element, in seconds after `base`:
 * everything placed by them moves without a render.
 */
import { useCallback, useEffect, useRef } from 'react';
import { useLive, useTick } from '@/live/LiveProvider';
import { useTimeAxis } from '@/ui/chart/TimeAxisContext';

export function useMovingWindow(base: number) {
  const axis = useTimeAxis();
  const live = useLive();
  const root = useRef<HTMLDivElement>(null);
  const move = useCallback(() => {
    const style = root.current?.style;
    const { from, to } = axis.window();
    style?.setProperty('--from', String(from - base));
    style?.setProperty('--length', String(Math.max(1, to - from)));
    style?.setProperty('--now', (live.now() / 1000 - base).toFixed(2));
  }, [axis, live, base]);
  useTick(move);
  useEffect(() => axis.subscribe(move), [axis, move]);
  return root;
}
