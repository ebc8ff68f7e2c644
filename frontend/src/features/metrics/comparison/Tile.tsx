/** One chart of the small multiples. */
import { useCallback, useEffect, useMemo, useRef } from 'react';
import { format, formatExact } from '@/lib/format';
import { maxLateIntervals } from '@/ui/chart/data/prepare';
import { COLOR } from '@/ui/chart/palette';
import { Sparkline } from '@/ui/chart/Sparkline';
import { useTimeAxis } from '@/ui/chart/TimeAxisContext';
import classes from '../metrics.module.css';
import type { ComparedMetric, ComparedObject } from './comparisonMetrics';
import type { SharedSource } from './sharedSource';

interface Props {
  shared: SharedSource;
  index: number;
  group: ComparedObject;
  metric: ComparedMetric;
}

export function Tile({ shared, index, group, metric }: Props) {
  const axis = useTimeAxis();
  const value = useRef<HTMLSpanElement>(null);
  const source = useMemo(() => shared.seriesAt(index), [shared, index]);
  const write = useCallback(() => {
    const { from, to } = axis.window();
    const { rows, step } = source.read(from, to);
    const last = rows[0]
      ?.slice(-maxLateIntervals(step))
      .findLast((sample) => !Number.isNaN(sample));
    const text = format(metric.unit, last);
    if (!value.current) return;
    if (value.current.textContent !== text) value.current.textContent = text;
    // The exact value can change while the rounded text stays the same.
    const title = formatExact(metric.unit, last);
    if (value.current.title !== title) value.current.title = title;
  }, [axis, source, metric.unit]);
  useEffect(() => {
    const stops = [source.subscribe(write), axis.subscribe(write)];
    write();
    return () => {
      for (const stop of stops) stop();
    };
  }, [source, axis, write]);
  return (
    <div className={classes.tile}>
      <div className={classes.tileHeader}>
        <span>{group.label}</span>
        <span className="dim small">{group.note}</span>
        <span ref={value} className="num">
          –
        </span>
      </div>
      <Sparkline
        source={source}
        color={group.color ?? COLOR.read}
        label={`${metric.title} of ${group.label}`}
        height={44}
        max={shared.max}
      />
    </div>
  );
}
