/** Live meter of the used memory and its limit. */
import { useCallback, useRef } from 'react';
import { format } from '@/lib/format';
import { memoryAlert } from '@/lib/thresholds';
import { useLive, useTick } from '@/live/LiveProvider';
import { LiveText } from '@/live/LiveText';
import classes from '../databases.module.css';

export function MemoryMeter({ uid, limit }: { uid: number; limit: number }) {
  const live = useLive();
  const fill = useRef<HTMLDivElement>(null);
  const draw = useCallback(() => {
    const used = live.ring('bdbs').latest(String(uid), 'used_memory', live.edge());
    const share = limit > 0 && !Number.isNaN(used) ? used / limit : 0;
    if (!fill.current) return;
    fill.current.style.width = `${(Math.min(1, share) * 100).toFixed(1)}%`;
    const tone = memoryAlert(share);
    if (tone) fill.current.dataset.alert = tone;
    else delete fill.current.dataset.alert;
  }, [live, uid, limit]);
  useTick(draw);
  const toneOf = useCallback(
    (used: number) => (limit > 0 ? memoryAlert(used / limit) : undefined),
    [limit],
  );
  return (
    <div className={classes.meter}>
      <span>
        <LiveText topic="bdbs" uid={uid} metric="used_memory" unit="bytes" toneOf={toneOf} />
        <span className="dim"> of {limit > 0 ? format('bytes', limit) : 'no limit'}</span>
      </span>
      <div className={classes.track} aria-hidden>
        <div ref={fill} />
      </div>
    </div>
  );
}
