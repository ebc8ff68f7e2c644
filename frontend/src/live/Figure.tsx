/** Live figure with its state. It is written directly to its text nodes, without a React render per sample. */
import { useCallback, useRef } from 'react';
import { lostSince } from '@/lib/connection';
import type { Unit } from '@/lib/format';
import { type FigureState, figureState, MAX_LATE_AGE } from '@/ui/figure/figureState';
import { type Alert, paintFigure } from '@/ui/figure/paintFigure';
import { useLive, useTick } from './LiveProvider';
import type { Live } from './live';
import { RETENTION } from './series/ring';

/** Topics of sums over several nodes. */
const TOTALS: ReadonlySet<string> = new Set(['cluster', 'bdbs', 'flash']);

interface Props {
  topic: string;
  uid: string | number;
  /** One metric, or several metrics that are added. */
  metric: string | readonly string[];
  unit: Unit;
  /** Why a second can have no value, for example because there were no requests. */
  emptyReason?: string | undefined;
  className?: string;
  tone?: Alert;
}

export function Figure({ topic, uid, metric, unit, emptyReason, className, tone }: Props) {
  const live = useLive();
  const value = useRef<HTMLSpanElement>(null);
  const note = useRef<HTMLElement>(null);
  const names = typeof metric === 'string' ? metric : metric.join();
  const draw = useCallback(() => {
    if (!value.current) return;
    const state = readFigure(live, topic, String(uid), names.split(','), emptyReason);
    paintFigure(state, { element: value.current, note: note.current, unit, tone });
  }, [live, topic, uid, names, unit, emptyReason, tone]);
  useTick(draw);
  return (
    <span className={className ? `figure ${className}` : 'figure'}>
      <span ref={value} className="num">
        –
      </span>
      <small ref={note} aria-live="off" />
    </span>
  );
}

/** Return the state of the sum of some metrics of a series. */
export function readFigure(
  live: Live,
  topic: string,
  uid: string,
  metrics: readonly string[],
  emptyReason?: string,
): FigureState {
  const ring = live.ring(topic);
  const lost = lostSince.get();
  const found = ring.newestKnown(
    uid,
    metrics,
    live.edge(),
    lost === null ? MAX_LATE_AGE : RETENTION,
  );
  return figureState({
    found,
    lostFor: lost === null ? null : (live.now() - lost) / 1000,
    nodes: TOTALS.has(topic) ? live.nodes() : null,
    emptyReason: ring.isCurrent(uid, live.edge()) ? emptyReason : undefined,
  });
}
