/** Cluster metrics page: for the cluster, per node, or per database. */
import { SegmentedControl } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { nodesQuery } from '@/api/cluster/nodes';
import { shownBdbsQuery } from '@/api/databases/bdbs';
import { ClusterCharts } from '@/features/metrics/ClusterCharts';
import { ClusterComparison } from '@/features/metrics/comparison/ClusterComparison';
import type { MetricsSearch } from '../search';
import { useLatencyReason } from '../useLatencyReason';
import classes from './pages.module.css';

export function ClusterMetricsPage() {
  const search = useSearch({ from: '/shell/cluster/metrics' });
  const navigate = useNavigate({ from: '/cluster/metrics' });
  const { data: nodes } = useQuery(nodesQuery);
  const { data: bdbs } = useQuery(shownBdbsQuery);
  const reasons = useLatencyReason();
  if (!nodes || !bdbs) return null;
  const change = (part: MetricsSearch) =>
    navigate({ search: (now) => ({ ...now, ...part }), replace: true });
  const by = search.by === 'shards' ? undefined : search.by;
  return (
    <div className={classes.page}>
      <div className={classes.head}>
        <h1>Cluster metrics</h1>
        <SegmentedControl
          aria-label="Level"
          value={by ?? 'cluster'}
          onChange={(value) =>
            change({ by: value === 'nodes' || value === 'databases' ? value : undefined })
          }
          data={[
            { value: 'cluster', label: 'Cluster' },
            { value: 'nodes', label: 'Nodes' },
            { value: 'databases', label: 'Databases' },
          ]}
        />
      </div>
      {by ? (
        <ClusterComparison
          by={by}
          nodes={nodes}
          bdbs={bdbs}
          metric={search.metric}
          view={search.view ?? 'top'}
          onChange={change}
        />
      ) : (
        <ClusterCharts
          nodes={nodes}
          left={search.left}
          right={search.right}
          reasons={reasons}
          onPin={(side, id) => change({ [side]: id })}
        />
      )}
    </div>
  );
}
