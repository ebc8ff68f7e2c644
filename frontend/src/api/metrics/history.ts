/** API of stored metrics, as columns over time, and of their retention. */
import { queryOptions } from '@tanstack/react-query';
import { getQuery, request } from '../http';
import type { components } from '../schema';

export type History = components['schemas']['History'];
export type LatencyHistory = components['schemas']['LatencyHistory'];

export interface HistoryRequest {
  /** cluster, nodes, bdbs or shards:<bdb uid> */
  topic: string;
  /** Undefined for all objects of the topic. */
  uids?: readonly string[] | undefined;
  metrics: readonly string[];
  /** Epoch seconds; `to` is excluded. */
  from: number;
  to: number;
  points: number;
}

const GC_TIME_MS = 5 * 60_000;
const RETENTION_FRESH_MS = 30_000;

export function historyPath({ topic, uids, metrics, from, to, points }: HistoryRequest): string {
  const query = [
    `topic=${topic}`,
    `metrics=${metrics.join(',')}`,
    ...(uids ? [`uids=${uids.join(',')}`] : []),
    `from=${from}`,
    `to=${to}`,
    `max_points=${points}`,
  ];
  return `/v1/history?${query.join('&')}`;
}

export type LatencyKind = 'all' | 'read' | 'write' | 'other';

export interface LatencyHistoryRequest {
  /** "bdb=1" or "endpoint=1:1:2" */
  of: string;
  kind: LatencyKind;
  /** Epoch seconds; `to` is excluded. */
  from: number;
  to: number;
  points: number;
  /** Resolution of an earlier reply, to request newer columns with the same columns and rows. */
  step?: number;
  perDecade?: number;
}

export function latencyHistoryPath(spec: LatencyHistoryRequest): string {
  const { of, kind, from, to, points, step, perDecade } = spec;
  const grid = [step && `step=${step}`, perDecade && `per_decade=${perDecade}`].filter(Boolean);
  const query = [of, `kind=${kind}`, `from=${from}`, `to=${to}`, `points=${points}`, ...grid];
  return `/v1/history/latency?${query.join('&')}`;
}

export const latencyHistory = (spec: LatencyHistoryRequest, signal: AbortSignal) =>
  request<LatencyHistory>('GET', latencyHistoryPath(spec), undefined, signal);

export const historyQuery = (spec: HistoryRequest) => {
  const path = historyPath(spec);
  return queryOptions({
    queryKey: ['history', path],
    queryFn: getQuery<History>(path),
    gcTime: GC_TIME_MS,
  });
};

export const retentionQuery = queryOptions({
  queryKey: ['history', 'retention'],
  queryFn: getQuery<components['schemas']['Retention']>('/v1/history/retention?topic=cluster'),
  staleTime: RETENTION_FRESH_MS,
});
