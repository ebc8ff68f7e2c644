/** Throughput of one database as a sparkline. */
import { useMemo } from 'react';
import { useLive } from '@/live/LiveProvider';
import { ringSource } from '@/live/source';
import { COLOR } from '@/ui/chart/palette';
import { Sparkline } from '@/ui/chart/Sparkline';
import classes from './databases.module.css';

export function LiveSpark({ uid, label }: { uid: number; label: string }) {
  const live = useLive();
  const source = useMemo(
    () => ringSource(live, 'bdbs', [{ uid: String(uid), metric: 'total_req' }]),
    [live, uid],
  );
  return (
    <div className={classes.spark}>
      <Sparkline source={source} color={COLOR.read} label={label} height={22} />
    </div>
  );
}
