/** One shard of the small multiples. */
import type { Shard } from '@/api/types';
import { LiveText } from '@/live/LiveText';
import { useSeries } from '@/live/useSeries';
import { COLOR } from '@/ui/chart/palette';
import { Sparkline } from '@/ui/chart/Sparkline';
import type { ShardMetric } from './dashboards';
import classes from './metrics.module.css';

interface Props {
  topic: string;
  metric: ShardMetric;
  shard: Shard;
  max: () => number;
}

export function ShardTile({ topic, metric, shard, max }: Props) {
  const source = useSeries({ topic, series: [{ uids: [shard.uid], metric: metric.metric }] });
  return (
    <div className={classes.tile}>
      <div className={classes.tileHead}>
        <span>redis:{shard.uid}</span>
        <span className="dim small">
          {shard.role === 'slave' && 'replica, '}node {shard.node_uid}
        </span>
        <LiveText topic={topic} uid={shard.uid} metric={metric.metric} unit={metric.unit} />
      </div>
      <Sparkline
        source={source}
        color={shard.role === 'master' ? COLOR.read : COLOR.other}
        label={`${metric.title} of redis:${shard.uid}`}
        height={44}
        max={max}
      />
    </div>
  );
}
