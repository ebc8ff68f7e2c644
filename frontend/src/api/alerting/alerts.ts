/** API of alert thresholds of a database, of nodes and of the cluster. */
import { queryOptions } from '@tanstack/react-query';
import { getQuery, request } from '../http';
import type { Alerts } from '../types';

/** Setting of one alert. `threshold` is undefined for alerts without a threshold. */
export interface AlertSetting {
  enabled: boolean;
  threshold?: string | undefined;
}

export type AlertSettings = Readonly<Record<string, AlertSetting>>;

const POLL_MS = 5_000;
const CLUSTER = '/v1/cluster';

export const databaseAlertsQuery = (bdb: number) =>
  queryOptions({
    queryKey: ['alerts', bdb],
    queryFn: getQuery<Alerts>(`/v1/bdbs/alerts/${bdb}`),
    refetchInterval: POLL_MS,
  });

export const setDatabaseAlerts = (bdb: number, settings: AlertSettings) =>
  request<Alerts>('POST', `/v1/bdbs/alerts/${bdb}`, settings);

export const clusterAlertsQuery = queryOptions({
  queryKey: ['alerts', 'cluster'],
  queryFn: async ({ signal }): Promise<AlertSettings> => {
    const { alert_settings } = await request<{
      alert_settings: Record<string, boolean | AlertSetting>;
    }>('GET', CLUSTER, undefined, signal);
    return Object.fromEntries(
      Object.entries(alert_settings).map(([name, value]) => [
        name,
        typeof value === 'boolean' ? { enabled: value } : value,
      ]),
    );
  },
});

export const setClusterAlerts = (settings: AlertSettings) =>
  request<unknown>('PUT', CLUSTER, {
    alert_settings: Object.fromEntries(
      Object.entries(settings).map(([name, value]) => [
        name,
        value.threshold === undefined ? value.enabled : value,
      ]),
    ),
  });
