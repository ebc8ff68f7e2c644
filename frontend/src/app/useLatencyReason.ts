/** Reason why there is currently no latency data: the proxies are not running. */
import { useQuery } from '@tanstack/react-query';
import { endpointQuery, proxiesQuery } from '@/api/databases/endpoints';
import type { EndpointProxy, NodeProxy } from '@/api/types';
import type { EmptyReasons } from '@/features/metrics/MetricChart';

/** Return the reason for one database, or for all; undefined while proxies are running or unknown. */
export function useLatencyReason(bdb?: number): EmptyReasons | undefined {
  const proxies = useQuery({ ...proxiesQuery, enabled: bdb === undefined }).data;
  const endpoint = useQuery({ ...endpointQuery(bdb ?? 0), enabled: bdb !== undefined }).data;
  const reason = latencyReason(bdb === undefined ? proxies : endpoint?.proxies);
  return reason ? { latency: reason } : undefined;
}

type ProxyState = Pick<EndpointProxy | NodeProxy, 'status' | 'detail'>;

export function latencyReason(proxies: readonly ProxyState[] = []): string | undefined {
  if (!proxies.length || proxies.some(({ status }) => status !== 'down')) return undefined;
  const detail = proxies.find(({ detail: text }) => text)?.detail;
  return ['The endpoint is not running.', detail].filter(Boolean).join(' ');
}
