/** API of the audit log, newest records first. Requires an administrator. */
import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { getQuery, request, requestFile } from '../http';
import type { AuditCheck, AuditLine } from '../types';

const PATH = '/v1/audit';
export const AUDIT_PAGE = 200;

export interface AuditFilter {
  outcome?: AuditLine['outcome'] | undefined;
  text?: string | undefined;
}

const page = ({ outcome, text }: AuditFilter, before: number | null, signal: AbortSignal) => {
  const query = new URLSearchParams({ limit: String(AUDIT_PAGE) });
  if (before !== null) query.set('before', String(before));
  if (outcome) query.set('outcome', outcome);
  if (text) query.set('text', text);
  return request<AuditLine[]>('GET', `${PATH}?${query}`, undefined, signal);
};

export const auditQuery = (filter: AuditFilter) =>
  infiniteQueryOptions({
    queryKey: ['audit', 'lines', filter],
    queryFn: ({ pageParam, signal }) => page(filter, pageParam, signal),
    initialPageParam: null as number | null,
    getNextPageParam: (last) =>
      last.length < AUDIT_PAGE ? undefined : (last.at(-1)?.uid ?? undefined),
    staleTime: 0,
    refetchInterval: 15_000,
  });

/** Check of the complete audit chain. It is expensive, so it runs once and on request. */
export const auditCheckQuery = queryOptions({
  queryKey: ['audit', 'check'],
  queryFn: getQuery<AuditCheck>(`${PATH}/check`),
  staleTime: Number.POSITIVE_INFINITY,
});

export const exportAudit = () => requestFile(`${PATH}/export`);
