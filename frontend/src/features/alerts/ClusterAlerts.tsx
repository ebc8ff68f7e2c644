/** Alert thresholds of nodes and the cluster. */
import { Alert } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { clusterAlertsQuery, setClusterAlerts } from '@/api/alerting/alerts';
import { messageOf } from '@/api/http';
import { AlertThresholdForm } from './AlertThresholdForm';
import { CLUSTER_THRESHOLDS } from './alertThresholds';

export function ClusterAlerts() {
  const client = useQueryClient();
  const { data, error } = useQuery(clusterAlertsQuery);
  if (!data) return error && <Alert color="red">{messageOf(error)}</Alert>;
  return (
    <AlertThresholdForm
      title="Alert thresholds of nodes and the cluster"
      limits={CLUSTER_THRESHOLDS}
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
