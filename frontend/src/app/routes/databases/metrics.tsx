/** Metrics tab: for the database, per node, or per shard. */
import { SegmentedControl } from '@mantine/core';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useBdbShards } from '@/api/databases/shards';
import { ShardComparison } from '@/features/metrics/comparison/ShardComparison';
import { DatabaseCharts } from '@/features/metrics/DatabaseCharts';
import type { MetricsSearch } from '../../search';
import { useLatencyReason } from '../../useLatencyReason';
import classes from '../pages.module.css';
import { useTabBdb } from './page';

const FROM = '/shell/databases/$uid/metrics';

export function DatabaseMetricsTab() {
  const bdb = useTabBdb();
  const search = useSearch({ from: FROM });
  const navigate = useNavigate({ from: '/databases/$uid/metrics' });
  const { data: shards } = useBdbShards(bdb?.uid ?? 0);
  const reasons = useLatencyReason(bdb?.uid);
  if (!bdb) return null;
  const change = (part: MetricsSearch) =>
    navigate({ search: (now) => ({ ...now, ...part }), replace: true });
  const by = search.by === 'databases' ? undefined : search.by;
  return (
    <>
      <SegmentedControl
        className={classes.switch}
        aria-label="Level"
        value={by ?? 'database'}
        onChange={(value) =>
          change({ by: value === 'nodes' || value === 'shards' ? value : undefined })
        }
        data={[
          { value: 'database', label: 'Database' },
          { value: 'nodes', label: 'Nodes' },
          { value: 'shards', label: 'Shards' },
        ]}
      />
      {by ? (
        <ShardComparison
          bdbUid={bdb.uid}
          shards={shards ?? []}
          by={by}
          metric={search.metric}
          view={search.view ?? (by === 'nodes' ? 'top' : 'tiles')}
          onChange={change}
        />
      ) : (
        <DatabaseCharts
          bdb={bdb}
          left={search.left}
          right={search.right}
          reasons={reasons}
          onPin={(side, id) => change({ [side]: id })}
        />
      )}
    </>
  );
}
