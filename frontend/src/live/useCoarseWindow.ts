/**
 * Window of the shared time axis for React components. It is rounded, so that they do not render
 * every second.
 */
import { useCallback, useEffect, useState } from 'react';
import { useTimeAxis } from '@/ui/chart/TimeAxisContext';
import { useTick } from './LiveProvider';

export interface CoarseWindow {
  /** Epoch seconds. Covers the exact window. */
  from: number;
  to: number;
  /** Length of the exact window in seconds. */
  length: number;
}

function roundWindow(from: number, to: number): CoarseWindow {
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

export function useCoarseWindow(): CoarseWindow {
  const axis = useTimeAxis();
  const [window, setWindow] = useState(() => roundWindow(axis.window().from, axis.window().to));
  const update = useCallback(() => {
    const { from, to } = axis.window();
    const next = roundWindow(from, to);
    setWindow((now) => (same(now, next) ? now : next));
  }, [axis]);
  useTick(update);
  useEffect(() => axis.subscribe(update), [axis, update]);
  return window;
}
