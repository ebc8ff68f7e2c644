/** Alert thresholds of a database. */
import { Alert } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { usePermission } from '@/api/access/session';
import { databaseAlertsQuery, setDatabaseAlerts } from '@/api/alerting/alerts';
import { messageOf } from '@/api/http';
import type { Alerts } from '@/api/types';
import { AlertThresholdForm } from './AlertThresholdForm';
import { DATABASE_THRESHOLDS } from './alertThresholds';

const raisedOf = (alerts: Alerts): Record<string, string> =>
  Object.fromEntries(
    Object.entries(alerts)
      .filter(([, { state }]) => state)
      .map(([name, { change_time }]) => [name, change_time]),
  );

export function DatabaseAlerts({ bdb }: { bdb: number }) {
  const client = useQueryClient();
  const query = databaseAlertsQuery(bdb);
  const { data, error } = useQuery(query);
  const may = usePermission('edit');
  if (!data) return error && <Alert color="red">{messageOf(error)}</Alert>;
  return (
    <AlertThresholdForm
      title="Alert thresholds"
      limits={DATABASE_THRESHOLDS}
      now={data}
      raised={raisedOf(data)}
      may={may}
      onSave={(changes) =>
        setDatabaseAlerts(bdb, changes).then((now) => client.setQueryData(query.queryKey, now))
      }
    />
  );
}
