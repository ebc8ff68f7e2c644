/** Live meter of the used memory and its limit. */
import { useCallback, useRef } from 'react';
import { memoryTone } from '@/api/alerting/alarmTones';
import { useActiveAlarms } from '@/api/alerting/health';
import { format } from '@/lib/format';
import { Figure, readFigure } from '@/live/Figure';
import { useLive, useTick } from '@/live/LiveProvider';
import classes from '../databases.module.css';

export function MemoryMeter({ uid, limit }: { uid: number; limit: number }) {
  const live = useLive();
  const tone = memoryTone(useActiveAlarms(), uid);
  const fill = useRef<HTMLDivElement>(null);
  const draw = useCallback(() => {
    const state = readFigure(live, 'bdbs', String(uid), ['used_memory']);
    const share = limit > 0 && state.kind !== 'unknown' ? state.value / limit : 0;
    if (!fill.current) return;
    fill.current.dataset.state = state.kind;
    fill.current.style.width = `${(Math.min(1, share) * 100).toFixed(1)}%`;
  }, [live, uid, limit]);
  useTick(draw);
  return (
    <div className={classes.meter}>
      <span>
        <Figure topic="bdbs" uid={uid} metric="used_memory" unit="bytes" tone={tone} />
        <span className="dim"> of {limit > 0 ? format('bytes', limit) : 'no limit'}</span>
      </span>
      <div className={classes.track} aria-hidden>
        <div ref={fill} data-alert={tone} />
      </div>
    </div>
  );
}
