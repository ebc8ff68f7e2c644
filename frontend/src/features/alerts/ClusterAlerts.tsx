/** What nodes and the cluster are watched for. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { clusterAlertsQuery, setClusterAlerts } from '@/api/alerts';
import { LimitForm } from './LimitForm';
import { OF_CLUSTER } from './limits';

export function ClusterAlerts() {
  const client = useQueryClient();
  const { data } = useQuery(clusterAlertsQuery);
  if (!data) return null;
  return (
    <LimitForm
      title="Alerts of nodes and the cluster"
      limits={OF_CLUSTER}
      now={data}
      may
      onSave={(changes) =>
        setClusterAlerts(changes).then(() =>
          client.invalidateQueries({ queryKey: clusterAlertsQuery.queryKey }),
        )
      }
    />
  );
}
