/** API of alert thresholds of a database, of nodes and of the cluster. */
import { queryOptions } from '@tanstack/react-query';
import { read, request } from './http';
import type { Alerts } from './types';

/** Setting of one alert. `threshold` is undefined for alerts without a threshold. */
export interface Wanted {
  enabled: boolean;
  threshold?: string | undefined;
}

export type WantedByName = Readonly<Record<string, Wanted>>;

const POLL_MS = 5_000;
const CLUSTER = '/v1/cluster';

export const databaseAlertsQuery = (bdb: number) =>
  queryOptions({
    queryKey: ['alerts', bdb],
    queryFn: read<Alerts>(`/v1/bdbs/alerts/${bdb}`),
    refetchInterval: POLL_MS,
  });

export const setDatabaseAlerts = (bdb: number, wanted: WantedByName) =>
  request<Alerts>('POST', `/v1/bdbs/alerts/${bdb}`, wanted);

export const clusterAlertsQuery = queryOptions({
  queryKey: ['alerts', 'cluster'],
  queryFn: async ({ signal }): Promise<WantedByName> => {
    const { alert_settings } = await request<{
      alert_settings: Record<string, boolean | Wanted>;
    }>('GET', CLUSTER, undefined, signal);
    return Object.fromEntries(
      Object.entries(alert_settings).map(([name, value]) => [
        name,
        typeof value === 'boolean' ? { enabled: value } : value,
      ]),
    );
  },
});

export const setClusterAlerts = (wanted: WantedByName) =>
  request<unknown>('PUT', CLUSTER, {
    alert_settings: Object.fromEntries(
      Object.entries(wanted).map(([name, value]) => [
        name,
        value.threshold === undefined ? value.enabled : value,
      ]),
    ),
  });
