/** Charts of one shard in a column. */
import type { Shard } from '@/api/types';
import { SHARD_CHARTS } from './declarations/dashboards';
import { MetricChart } from './MetricChart';
import classes from './metrics.module.css';

interface Props {
  shard: Shard;
  memoryLimit: number | undefined;
}

export function ShardPanelCharts({ shard, memoryLimit }: Props) {
  const charts = SHARD_CHARTS.filter(({ id }) => id !== 'lag' || shard.role === 'slave');
  return (
    <div className={classes.stack}>
      {charts.map((declaration) => (
        <MetricChart
          key={declaration.id}
          declaration={declaration}
          topic={`shards:${shard.bdb_uid}`}
          uid={shard.uid}
          limits={{ memory_size: memoryLimit }}
          height={110}
          compact
        />
      ))}
    </div>
  );
}
