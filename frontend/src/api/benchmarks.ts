/** API of benchmarks: runs of the load generator, their samples per second, and comparisons. */
import { queryOptions } from '@tanstack/react-query';
import { getQuery, request } from './http';
import type {
  Benchmark,
  BenchmarkComparison,
  BenchmarkPart,
  BenchmarkRequest,
  ParsedCommandLine,
  Preflight,
} from './types';

const PATH = '/v1/benchmarks';
const POLL_MS = 1_000;

export const isOpen = (run: Pick<Benchmark, 'status'>) =>
  run.status === 'queued' || run.status === 'running';

export const benchmarksQuery = queryOptions({
  queryKey: ['benchmarks'],
  queryFn: getQuery<Benchmark[]>(PATH),
  refetchInterval: ({ state }) => (state.data?.some(isOpen) ? POLL_MS : 15_000),
});

export const benchmarkQuery = (uid: number) =>
  queryOptions({
    queryKey: ['benchmarks', uid],
    queryFn: getQuery<Benchmark>(`${PATH}/${uid}`),
    refetchInterval: ({ state }) => (state.data && !isOpen(state.data) ? false : POLL_MS),
  });

export const comparisonQuery = (uids: readonly number[]) =>
  queryOptions({
    queryKey: ['benchmarks', 'compare', ...uids],
    queryFn: getQuery<BenchmarkComparison>(`${PATH}/compare?uids=${uids.join(',')}`),
  });

interface PartPosition {
  phase: number;
  repetition: number;
  /** First second of the load to return. */
  since: number;
}

/** Fetch the samples per second of all parts, or of one part from a given second on, with latency histograms. */
export async function fetchParts(
  uid: number,
  position: PartPosition | undefined,
  signal: AbortSignal,
): Promise<BenchmarkPart[]> {
  const part = position
    ? `&phase=${position.phase}&repetition=${position.repetition}&since=${position.since}`
    : '';
  const { parts } = await request<{ parts: BenchmarkPart[] }>(
    'GET',
    `${PATH}/${uid}/series?histograms=true${part}`,
    undefined,
    signal,
  );
  return parts;
}

export const startBenchmark = (benchmark: BenchmarkRequest) =>
  request<Benchmark>('POST', PATH, benchmark);

export const preflightBenchmark = (benchmark: BenchmarkRequest, signal: AbortSignal) =>
  request<Preflight>('POST', `${PATH}/preflight`, benchmark, signal);

export const parseCommandLine = (line: string, signal: AbortSignal) =>
  request<ParsedCommandLine>('POST', `${PATH}/understand`, { command_line: line }, signal);

export const stopBenchmark = (uid: number) => request<Benchmark>('POST', `${PATH}/${uid}/stop`, {});

export const deleteBenchmark = (uid: number) => request<unknown>('DELETE', `${PATH}/${uid}`);

export const reportPath = (uid: number, format: string) => `${PATH}/${uid}/report?format=${format}`;
