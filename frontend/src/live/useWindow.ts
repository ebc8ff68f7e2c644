/** The window of the shared axis for React: coarse, so that following time does not render every second. */
import { useCallback, useEffect, useState } from 'react';
import { useTimeAxis } from '@/ui/chart/TimeAxisContext';
import { useTick } from './LiveProvider';

export interface CoarseWindow {
  /** Epoch seconds; covers the exact window. */
  from: number;
  to: number;
  /** Seconds of the exact window. */
  length: number;
}

function coarse(from: number, to: number): CoarseWindow {
  const length = to - from;
  const step = Math.max(10, Math.ceil(length / 10));
  return {
    from: Math.floor(from / step) * step,
    to: (Math.floor(to / step) + 1) * step,
    length,
  };
}

const same = (a: CoarseWindow, b: CoarseWindow): boolean =>
  a.from === b.from && a.to === b.to && a.length === b.length;

export function useWindow(): CoarseWindow {
  const axis = useTimeAxis();
  const [window, setWindow] = useState(() => coarse(axis.window().from, axis.window().to));
  const look = useCallback(() => {
    const { from, to } = axis.window();
    const next = coarse(from, to);
    setWindow((now) => (same(now, next) ? now : next));
  }, [axis]);
  useTick(look);
  useEffect(() => axis.subscribe(look), [axis, look]);
  return window;
}
