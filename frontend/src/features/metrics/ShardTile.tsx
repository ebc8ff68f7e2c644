/** One shard of the small multiples. */
import { useMemo } from 'react';
import type { Shard } from '@/api/types';
import { useLive } from '@/live/LiveProvider';
import { LiveText } from '@/live/LiveText';
import { ringSource } from '@/live/source';
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
  const live = useLive();
  const source = useMemo(
    () => ringSource(live, topic, [{ uid: shard.uid, metric: metric.metric }]),
    [live, topic, shard.uid, metric.metric],
  );
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
