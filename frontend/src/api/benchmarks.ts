/** API of benchmarks: runs of the load generator, their samples per second, and comparisons. */
import { queryOptions } from '@tanstack/react-query';
import { getQuery, request } from './http';
import type {
  Benchmark,
  BenchmarkClients,
  BenchmarkComparison,
  BenchmarkPart,
  BenchmarkRequest,
  ParsedCommandLine,
  Preflight,
} from './types';

const PATH = '/v1/benchmarks';
const POLL_MS = 1_000;
const IDLE_POLL_MS = 15_000;
const FAST_POLLS = 10;

export const isOpen = (run: Pick<Benchmark, 'status'>) =>
  run.status === 'queued' || run.status === 'running';

export const benchmarksQuery = queryOptions({
  queryKey: ['benchmarks'],
  queryFn: getQuery<Benchmark[]>(PATH),
  refetchInterval: ({ state }) => (state.data?.some(isOpen) ? POLL_MS : IDLE_POLL_MS),
});

export const benchmarkQuery = (uid: number) =>
  queryOptions({
    queryKey: ['benchmarks', uid],
    queryFn: getQuery<Benchmark>(`${PATH}/${uid}`),
    refetchInterval: ({ state }) => (state.data && !isOpen(state.data) ? false : POLL_MS),
  });

/** Figures of each client, which load generators report at their end. */
export const clientsQuery = (uid: number) =>
  queryOptions({
    queryKey: ['benchmarks', uid, 'clients'],
    queryFn: getQuery<BenchmarkClients>(`${PATH}/${uid}/clients`),
    // A load node that is lost can keep its report for a long time.
    refetchInterval: ({ state }) => {
      if (state.data?.complete) return false;
      return state.dataUpdateCount < FAST_POLLS ? POLL_MS : IDLE_POLL_MS;
    },
  });

export const COMPARISON_GROUPS = ['scenario', 'phase', 'name'] as const;

/** Runs to compare, and how. */
export interface ComparisonChoice {
  uids: readonly number[];
  /** Uid of the baseline; undefined for the first run. */
  baseline?: number | undefined;
  /** Rows of ratio tables; undefined for no such tables. */
  group?: (typeof COMPARISON_GROUPS)[number] | undefined;
  /** Columns of ratio tables: `database`, or the key of a tag. */
  column?: string | undefined;
}

export function comparisonPath(choice: ComparisonChoice, format?: 'markdown' | 'csv'): string {
  const { uids, ...rest } = choice;
  const parameters = Object.entries({ uids: uids.join(','), ...rest, format })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`);
  return `${PATH}/compare?${parameters.join('&')}`;
}

export const comparisonQuery = (choice: ComparisonChoice) =>
  queryOptions({
    queryKey: ['benchmarks', 'compare', comparisonPath(choice)],
    queryFn: getQuery<BenchmarkComparison>(comparisonPath(choice)),
    retry: false,
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
