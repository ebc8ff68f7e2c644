/** Throughput of one database as a sparkline. */
import { useSeries } from '@/live/useSeries';
import { COLOR } from '@/ui/chart/palette';
import { Sparkline } from '@/ui/chart/Sparkline';
import classes from '../databases.module.css';

export function LiveSpark({ uid, label }: { uid: number; label: string }) {
  const series = [{ uids: [String(uid)], metric: 'total_req' }];
  const source = useSeries({ topic: 'bdbs', series, topicSize: 1 });
  return (
    <div className={classes.spark}>
      <Sparkline source={source} color={COLOR.read} label={label} height={22} />
    </div>
  );
}
