/** A live number that is written straight into its text node: no React render per sample. */
import { useCallback, useRef } from 'react';
import { exact, format, type Unit } from '@/lib/format';
import { useLive, useTick } from './LiveProvider';

interface Props {
  topic: string;
  uid: string | number;
  /** One metric, or several to be summed. */
  metric: string | readonly string[];
  unit: Unit;
  /** What a dash means; that no sample arrived when left out. */
  nothing?: string | undefined;
  className?: string;
  /** From which values on it wants a look. */
  toneOf?: (value: number) => 'attention' | 'broken' | undefined;
}

export function LiveText({ topic, uid, metric, unit, nothing, className, toneOf }: Props) {
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
      ? (nothing ?? 'No sample in the last seconds')
      : exact(unit, value);
    if (span.title !== title) span.title = title;
    const tone = Number.isNaN(value) ? undefined : toneOf?.(value);
    if (span.dataset.alert !== tone) {
      if (tone) span.dataset.alert = tone;
      else delete span.dataset.alert;
    }
  }, [live, topic, uid, names, unit, nothing, toneOf]);
  useTick(draw);
  return (
    <span ref={ref} className={className ? `num ${className}` : 'num'}>
      –
    </span>
  );
}
