/** Used of provisioned memory, live. */
import { useCallback, useRef } from 'react';
import { format } from '@/lib/format';
import { useLive, useTick } from '@/live/LiveProvider';
import { LiveText } from '@/live/LiveText';
import classes from './databases.module.css';

export function MemoryMeter({ uid, limit }: { uid: number; limit: number }) {
  const live = useLive();
  const fill = useRef<HTMLDivElement>(null);
  const draw = useCallback(() => {
    const used = live.ring('bdbs').latest(String(uid), 'used_memory', live.edge());
    const part = limit > 0 && !Number.isNaN(used) ? Math.min(1, used / limit) : 0;
    if (fill.current) fill.current.style.width = `${(part * 100).toFixed(1)}%`;
  }, [live, uid, limit]);
  useTick(draw);
  return (
    <div className={classes.meter}>
      <span>
        <LiveText topic="bdbs" uid={uid} metric="used_memory" unit="bytes" />
        <span className="dim"> of {limit > 0 ? format('bytes', limit) : 'no limit'}</span>
      </span>
      <div className={classes.track} aria-hidden>
        <div ref={fill} />
      </div>
    </div>
  );
}
