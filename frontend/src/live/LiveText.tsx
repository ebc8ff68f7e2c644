/** Live value that is written directly to its text node, without a React render per sample. */
import { useCallback, useRef } from 'react';
import { format, formatExact, type Unit } from '@/lib/format';
import { useLive, useTick } from './LiveProvider';

interface Props {
  topic: string;
  uid: string | number;
  /** One metric, or several metrics that are added. */
  metric: string | readonly string[];
  unit: Unit;
  /** Tooltip of the dash that is shown without a value; default: no recent sample. */
  emptyTitle?: string | undefined;
  className?: string;
  /** Return the tone of a value that needs attention. */
  toneOf?: (value: number) => 'attention' | 'broken' | undefined;
}

export function LiveText({ topic, uid, metric, unit, emptyTitle, className, toneOf }: Props) {
  const live = useLive();
  const ref = useRef<HTMLSpanElement>(null);
  const names = typeof metric === 'string' ? metric : metric.join();
  const draw = useCallback(() => {
    const span = ref.current;
    if (!span) return;
    const ring = live.ring(topic);
    const value = names
      .split(',')
      .reduce((sum, name) => sum + ring.latest(String(uid), name, live.edge()), 0);
    const text = format(unit, value);
    if (span.textContent !== text) span.textContent = text;
    const title = Number.isNaN(value)
      ? (emptyTitle ?? 'No samples in the last few seconds')
      : formatExact(unit, value);
    if (span.title !== title) span.title = title;
    const tone = Number.isNaN(value) ? undefined : toneOf?.(value);
    if (span.dataset.alert !== tone) {
      if (tone) span.dataset.alert = tone;
      else delete span.dataset.alert;
    }
  }, [live, topic, uid, names, unit, emptyTitle, toneOf]);
  useTick(draw);
  return (
    <span ref={ref} className={className ? `num ${className}` : 'num'}>
      –
    </span>
  );
}
