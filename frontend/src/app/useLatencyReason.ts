/** Why there is no latency at the moment: nobody asked for anything, or nobody would hear it. */
import { useQuery } from '@tanstack/react-query';
import { endpointQuery, proxiesQuery } from '@/api/endpoints';
import type { EndpointProxy, NodeProxy } from '@/api/types';
import type { Reasons } from '@/features/metrics/MetricChart';

/** Of one database, or of all; undefined while its proxies run, or are not known. */
export function useLatencyReason(bdb?: number): Reasons | undefined {
  const all = useQuery({ ...proxiesQuery, enabled: bdb === undefined }).data;
  const own = useQuery({ ...endpointQuery(bdb ?? 0), enabled: bdb !== undefined }).data;
  const reason = whyUnmeasured(bdb === undefined ? all : own?.proxies);
  return reason ? { latency: reason } : undefined;
}

type Looked = Pick<EndpointProxy | NodeProxy, 'status' | 'detail'>;

export function whyUnmeasured(proxies: readonly Looked[] = []): string | undefined {
  if (!proxies.length || proxies.some(({ status }) => status !== 'down')) return undefined;
  const detail = proxies.find(({ detail: text }) => text)?.detail;
  return ['The endpoint is not running.', detail].filter(Boolean).join(' ');
}
