/** API of benchmarks: runs of the load generator, their samples per second, and comparisons. */
import { queryOptions } from '@tanstack/react-query';
import { read, request } from './http';
import type {
  Benchmark,
  BenchmarkComparison,
  BenchmarkOrder,
  BenchmarkPart,
  Preflight,
  Understood,
} from './types';

const PATH = '/v1/benchmarks';
const POLL_MS = 1_000;

export const isOpen = (run: Pick<Benchmark, 'status'>) =>
  run.status === 'queued' || run.status === 'running';

export const benchmarksQuery = queryOptions({
  queryKey: ['benchmarks'],
  queryFn: read<Benchmark[]>(PATH),
  refetchInterval: ({ state }) => (state.data?.some(isOpen) ? POLL_MS : 15_000),
});

export const benchmarkQuery = (uid: number) =>
  queryOptions({
    queryKey: ['benchmarks', uid],
    queryFn: read<Benchmark>(`${PATH}/${uid}`),
    refetchInterval: ({ state }) => (state.data && !isOpen(state.data) ? false : POLL_MS),
  });

export const comparisonQuery = (uids: readonly number[]) =>
  queryOptions({
    queryKey: ['benchmarks', 'compare', ...uids],
    queryFn: read<BenchmarkComparison>(`${PATH}/compare?uids=${uids.join(',')}`),
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
  place: PartPosition | undefined,
  signal: AbortSignal,
): Promise<BenchmarkPart[]> {
  const part = place
    ? `&phase=${place.phase}&repetition=${place.repetition}&since=${place.since}`
    : '';
  const { parts } = await request<{ parts: BenchmarkPart[] }>(
    'GET',
    `${PATH}/${uid}/series?histograms=true${part}`,
    undefined,
    signal,
  );
  return parts;
}

export const startBenchmark = (order: BenchmarkOrder) => request<Benchmark>('POST', PATH, order);

export const examineBenchmark = (order: BenchmarkOrder, signal: AbortSignal) =>
  request<Preflight>('POST', `${PATH}/preflight`, order, signal);

export const understandLine = (line: string, signal: AbortSignal) =>
  request<Understood>('POST', `${PATH}/understand`, { command_line: line }, signal);

export const stopBenchmark = (uid: number) => request<Benchmark>('POST', `${PATH}/${uid}/stop`, {});

export const deleteBenchmark = (uid: number) => request<unknown>('DELETE', `${PATH}/${uid}`);

export const reportPath = (uid: number, format: string) => `${PATH}/${uid}/report?format=${format}`;
